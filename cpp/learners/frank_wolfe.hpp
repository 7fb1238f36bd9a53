// Block-coordinate Frank-Wolfe for the hinge (dcd-ssvm-2013, section 2.2, after Lacoste-Julien et al. 2013).
//
//   primal   min_w  1/2 |w|^2 + sum_i C_i xi_i,   xi_i = max(0, max_y [loss_i(y) - w.d_i(y)])
//   dual     max_a  sum a_iy loss_i(y) - 1/2 |w|^2   subject to  a >= 0,  sum_y a_iy <= C_i;  gold takes up the rest
//   update   for one example: y* = the most violated output (the oracle), s = the corner with a_iy* = C_i;
//            w_i = sum_y a_iy d_i(y),  l_i = sum_y a_iy loss_i(y),  w_s = C_i d_i(y*),  l_s = C_i loss_i(y*)
//            gap_i = (l_s - l_i) - w.(w_s - w_i),   gamma = clip(gap_i / |w_s - w_i|^2, 0, 1)      (exact line search)
//            a_i <- (1 - gamma) a_i + gamma s,   w <- w + gamma (w_s - w_i)
//   gap      sum_i gap_i over a pass is the duality gap, seen through weights that moved meanwhile
//   average  w' = 2 / (K (K + 1)) sum_k k w_k over all steps k = 1 .. K, and the same of the dual point
//
// The papers write C/n for our C. The outputs of a block stay known with their duals, so that w can be recomputed and a
// checkpoint rebuilt; with inner passes they also serve as a cache: a step towards the best of them needs no inference.
//
// A change made at step k is missing from the k (k - 1) / 2 parts of the average before it, so with
// u = sum_k change_k k (k - 1) / 2 the average is w - 2 u / (K (K + 1)).
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "learners/block_problem.hpp"

namespace marginloom {

class FrankWolfe final : public BlockLearner<FrankWolfe> {
 public:
  struct Parameters {
    int inner_passes = 0;  // over cached candidates
    bool averaged = false;
    std::size_t memory = DualBlocks::unlimited;
  };

  FrankWolfe(std::shared_ptr<const Task> task, std::vector<double> costs, Parameters parameters);

  FindOptions search(std::size_t) const override { return {}; }
  void absorb(const Candidate& candidate) override;
  void searched(std::size_t i, double bound) override;
  int inner_passes() const override { return parameters_.inner_passes; }
  void end_pass(const PlainWeights& w, Lane& lane) override;
  std::optional<double> gap_estimate() const override { return gap_of_last_pass_; }
  bool averages() const override { return !late_.empty(); }
  void average(std::span<double> w) const override;
  double averaged_dual(double squared_norm) const override;
  StateArrays export_state() const override;
  void import_state(const StateArrays& state) override;

  template <class Weights>
  double improve_block(std::size_t i, const Weights& w, Lane& lane);

 private:
  enum class Oracle : std::uint8_t { none, gold, candidate };  // what the last search of an example brought
  static constexpr std::size_t gold = static_cast<std::size_t>(-1);

  // gap_i towards member `target` of the block, or towards gold, given the violations in the lane's workspace.
  [[nodiscard]] double block_gap(std::size_t i, std::size_t target, const BlockWorkspace& work) const;
  template <class Weights>
  double step_towards(std::size_t i, std::size_t target, double gap, const Weights& w, Lane& lane);
  void mend_norms();
  [[nodiscard]] double averaging_weight() const {
    return static_cast<double>(clock_) * (static_cast<double>(clock_) - 1) / 2;
  }

  Parameters parameters_;
  std::vector<Oracle> oracle_;
  std::vector<double> norms_;  // |w_i|^2
  double gap_of_pass_ = 0;
  double gap_of_last_pass_ = 0;
  std::vector<double> late_;  // u, empty if not averaged
  double late_loss_ = 0;      // the same for sum_i l_i
  std::uint64_t clock_ = 0;   // k
};

template <class Weights>
double FrankWolfe::improve_block(std::size_t i, const Weights& w, Lane& lane) {
  const DualBlocks& blocks = problem_.blocks();
  const Oracle oracle = std::exchange(oracle_[i], Oracle::none);
  const auto members = blocks[i].members();
  if (members.empty()) {
    clock_ += oracle == Oracle::gold ? 1 : 0;  // it stays where it is, at gold; that is a step, too
    return 0;
  }
  BlockWorkspace& work = lane.block;
  blocks.gather(i, work, lane.scratch);
  work.gradient.clear();
  for (std::size_t j = 0; j < members.size(); ++j) {
    work.gradient.push_back(members[j].loss - blocks.project(i, members[j], work.differences[j], w).dot);
  }
  std::size_t target = oracle == Oracle::candidate ? 0 : gold;
  if (oracle == Oracle::none) {  // an inner pass: the best of what is known
    const auto best = std::ranges::max_element(work.gradient);
    if (*best > 0) target = static_cast<std::size_t>(best - work.gradient.begin());
  }
  const double gap = block_gap(i, target, work);
  if (oracle != Oracle::none) gap_of_pass_ += gap;
  return step_towards(i, target, gap, w, lane);
}

template <class Weights>
double FrankWolfe::step_towards(std::size_t i, std::size_t target, double gap, const Weights& w, Lane& lane) {
  DualBlocks& blocks = problem_.blocks();
  BlockWorkspace& work = lane.block;
  const auto members = blocks[i].members();
  const double corner = target == gold ? 0 : problem_.cost(i);
  double cross = 0;  // w_i.w_s
  for (std::size_t j = 0; j < members.size() && target != gold; ++j) {
    if (members[j].dual > 0) cross += members[j].dual * corner * blocks.product(i, j, target, work);
  }
  const double corner_norm = target == gold ? 0 : corner * corner * members[target].squared_norm;
  const double distance = norms_[i] - 2 * cross + corner_norm;
  const double caution = 1 + w.extra_curvature_bound(1);
  const double gamma = gap <= 0 ? 0 : (caution * distance > gap ? gap / (caution * distance) : 1);
  ++clock_;
  double loss_change = 0;
  work.duals.clear();
  for (std::size_t j = 0; j < members.size(); ++j) {
    // What has faded to nothing is taken out of w, too, so that blocks do not grow for ever.
    const double faded = (1 - gamma) * members[j].dual + (j == target ? gamma * corner : 0);
    const double dual = faded > 1e-13 * problem_.cost(i) ? faded : 0;
    const double step = dual - members[j].dual;
    work.duals.push_back(dual);
    if (step == 0) continue;
    blocks.add(i, members[j], work.differences[j], step, w);
    if (averages()) {
      blocks.add(i, members[j], work.differences[j], step * averaging_weight(), PlainWeights{late_.data()});
    }
    loss_change += step * members[j].loss;
  }
  late_loss_ += loss_change * averaging_weight();
  if (gamma > 0) ++lane.updates;
  norms_[i] = (1 - gamma) * (1 - gamma) * norms_[i] + 2 * gamma * (1 - gamma) * cross + gamma * gamma * corner_norm;
  if (problem_.set_duals(i, work.duals)) blocks.drop_zero_duals(i);
  problem_.refresh(i, 0);
  return gamma * (gap - gamma * distance / 2);
}

}  // namespace marginloom
