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
// The papers write C/n for our C. w_i is kept merged, so that a step costs its size, however many outputs it is made
// of. The outputs stay known with their duals, so that w can be recomputed and a checkpoint rebuilt; with inner passes
// they also serve as a cache: a step towards the best of them needs no inference.
//
// A change made at step k is missing from the k (k - 1) / 2 parts of the average before it, so with
// u = sum_k change_k k (k - 1) / 2 the average is w - 2 u / (K (K + 1)).
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/zeroed_array.hpp"
#include "learners/block_learner.hpp"
#include "learners/sparse_sum.hpp"

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
  void begin_pass() override;
  void end_pass(const PlainWeights& w, Lane& lane) override;
  std::optional<double> gap_estimate() const override { return gap_of_last_pass_; }
  bool averages() const override { return !late_.empty(); }
  void average(std::span<double> w) const override;
  void forget_average() override;
  double averaged_dual(double squared_norm) const override;
  std::size_t memory() const override;
  StateArrays export_state() const override;
  void import_state(const StateArrays& state) override;

  template <class Weights>
  double improve_block(std::size_t i, const Weights& w, Lane& lane);

 private:
  enum class Oracle : std::uint8_t { none, gold, candidate };  // what the last search of an example brought
  static constexpr std::size_t gold = static_cast<std::size_t>(-1);
  struct Way {
    WeightIndex index;
    double from;  // w_i
    double way;   // w_s - w_i
  };

  // The cached candidate of example i with the largest violation, or gold.
  template <class Weights>
  [[nodiscard]] std::size_t best_cached(std::size_t i, const Weights& w, Lane& lane) const;
  template <class Weights>
  double step_towards(std::size_t i, std::size_t target, bool from_search, const Weights& w, Lane& lane);
  // Moves the block's share of the dual from its duals to the corner; returns the change of its loss.
  double move_duals(std::size_t i, std::size_t target, double gamma);
  void take_corner(std::size_t i, const WorkingSet::Member& member, Lane& lane);
  void take_corner(const Candidate& candidate);
  [[nodiscard]] std::vector<SparseSum> sums_of_duals();
  [[nodiscard]] double averaging_weight() const {
    return static_cast<double>(clock_) * (static_cast<double>(clock_) - 1) / 2;
  }

  Parameters parameters_;
  std::vector<Oracle> oracle_;
  std::vector<SparseSum> sums_;  // w_i
  SparseAdder adder_;
  SparseSum corner_;              // w_s
  std::size_t corner_of_ = gold;  // the example whose newest candidate it belongs to
  std::vector<Way> path_;
  double gap_of_pass_ = 0;
  double gap_of_last_pass_ = 0;
  ZeroedArray late_;         // u, empty if not averaged
  double late_loss_ = 0;     // the same for sum_i l_i
  std::uint64_t clock_ = 0;  // k
};

template <class Weights>
double FrankWolfe::improve_block(std::size_t i, const Weights& w, Lane& lane) {
  const Oracle oracle = std::exchange(oracle_[i], Oracle::none);
  if (problem_.blocks()[i].empty()) {
    clock_ += oracle == Oracle::gold ? 1 : 0;  // it stays where it is, at gold; that is a step, too
    return 0;
  }
  if (oracle == Oracle::none) return step_towards(i, best_cached(i, w, lane), false, w, lane);
  return step_towards(i, oracle == Oracle::candidate ? 0 : gold, true, w, lane);
}

template <class Weights>
std::size_t FrankWolfe::best_cached(std::size_t i, const Weights& w, Lane& lane) const {
  const DualBlocks& blocks = problem_.blocks();
  const auto members = blocks[i].members();
  double highest = 0;
  std::size_t best = gold;
  for (std::size_t j = 0; j < members.size(); ++j) {
    const auto entries = blocks.entries(i, members[j], lane.scratch);
    const double violation = members[j].loss - blocks.project(i, members[j], entries, w).dot;
    if (violation > highest) {
      highest = violation;
      best = j;
    }
  }
  return best;
}

template <class Weights>
double FrankWolfe::step_towards(std::size_t i, std::size_t target, bool from_search, const Weights& w, Lane& lane) {
  const auto members = problem_.blocks()[i].members();
  double corner_loss = 0;
  if (target != gold) {
    if (!(from_search && corner_of_ == i)) take_corner(i, members[target], lane);
    corner_loss = problem_.cost(i) * members[target].loss;
  } else {
    corner_.clear();
  }
  corner_of_ = gold;
  double loss = 0;
  for (const auto& member : members) loss += member.dual * member.loss;
  SparseSum& sum = sums_[i];
  double gap = corner_loss - loss;
  double distance = 0;  // |w_s - w_i|^2
  path_.clear();
  visit_both(sum, corner_, [&](WeightIndex k, double from, double to) {
    const double way = to - from;
    gap -= w.read(k) * way;
    distance += way * way;
    path_.push_back({k, from, way});
  });
  if (from_search) gap_of_pass_ += gap;
  const double caution = 1 + w.extra_curvature_bound(1);
  const double gamma = gap <= 0 ? 0 : (caution * distance > gap ? gap / (caution * distance) : 1);
  ++clock_;
  if (gamma > 0) {
    sum.clear();
    const PlainWeights late{late_.values().data()};
    const double late_share = averages() ? gamma * averaging_weight() : 0;
    for (const Way& way : path_) {
      w.add(way.index, gamma * way.way);
      if (late_share > 0) late.add(way.index, late_share * way.way);
      const double value = gamma < 1 ? way.from + gamma * way.way : way.from + way.way;
      if (value != 0) sum.push_back(way.index, value);
    }
    ++lane.updates;
  }
  late_loss_ += move_duals(i, target, gamma) * averaging_weight();
  return gamma * (gap - gamma * distance / 2);
}

}  // namespace marginloom
