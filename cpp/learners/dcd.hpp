// Dual coordinate descent for the structured SVM with the squared hinge (dcd-ssvm-2013, Algorithms 1 to 3).
//
//   primal   min_w  1/2 |w|^2 + sum_i C_i xi_i^2,   xi_i = max(0, max_y [loss_i(y) - w.d_i(y)])
//   dual     max_{a >= 0}  sum a_iy loss_i(y) - 1/2 |w|^2 - sum_i (sum_y a_iy)^2 / (4 C_i)
//            with w = sum a_iy d_i(y)  and  d_i(y) = phi(x_i, y_i) - phi(x_i, y)
//   update   of one variable, all others fixed:
//            g = loss_i(y) - w.d_i(y) - sum_y' a_iy' / (2 C_i)          (gradient)
//            h = |d_i(y)|^2 + 1 / (2 C_i)                               (curvature)
//            a_iy <- max(a_iy + g / h, 0), and w moves by the change of a_iy times d_i(y)
//   gain     step * (g - step * h / 2)
//
// A block is one example. Algorithm 1 is improve_block: the newest candidate first, the others shuffled,
// those whose dual ends at 0 dropped. Algorithm 2 (dcd-light) has no inner passes, Algorithm 3 (dcd-ssvm) has
// r of them.
//
// A candidate is absorbed if its g exceeds delta. If no candidate does, primal - dual is at most
// sum_i C_i ((s_i + delta)^2 - s_i^2) with s_i = sum_y a_iy / (2 C_i), so delta follows the gap down: it is
// the value for which that sum is a tenth of the gap last seen, and never more than the delta that was asked
// for.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "learners/dual_blocks.hpp"
#include "learners/learner.hpp"

namespace marginloom {

class Dcd final : public DualLearnerBase<Dcd> {
 public:
  struct Parameters {
    double delta = 0.01;
    int k_best = 1;  // candidates that a search may bring
    int inner_passes = 5;
    double shrinking = 0;
    std::size_t memory = DualBlocks::unlimited;  // bytes for the working sets
  };

  // `costs` are the C_i; examples with a cost of 0 are never to be visited.
  Dcd(std::shared_ptr<const Task> task, std::vector<double> costs, Parameters parameters);

  const Task& task() const override { return blocks_.task(); }
  Loss loss() const override { return Loss::squared_hinge; }
  double cost(std::size_t i) const override { return costs_[i]; }
  FindOptions search(std::size_t i) const override;
  void absorb(const Candidate& candidate) override;
  bool has_candidates(std::size_t i) const override { return !blocks_[i].empty(); }
  void prefetch(std::span<const std::size_t> coming) const override { blocks_.prefetch(coming); }
  int inner_passes() const override { return parameters_.inner_passes; }
  double shrinking() const override { return parameters_.shrinking; }
  void end_pass(const PlainWeights&, Lane&) override { blocks_.trim(); }
  void note_gap(double primal, double dual) override;
  double dual(double squared_norm) const override;
  void write_weights(std::span<double> w) const override { blocks_.write_weights(w); }
  std::size_t active() const override { return blocks_.active(); }
  std::size_t memory() const override { return blocks_.memory(); }
  StateArrays export_state() const override;
  void import_state(const StateArrays& state) override;

  template <class Weights>
  double improve_block(std::size_t i, const Weights& w, Lane& lane);

 private:
  DualBlocks blocks_;
  std::vector<double> costs_;
  std::vector<double> sums_;  // sum_y a_iy
  Parameters parameters_;
  double delta_;
};

template <class Weights>
double Dcd::improve_block(std::size_t i, const Weights& w, Lane& lane) {
  WorkingSet& block = blocks_[i];
  if (block.empty()) return 0;
  const double ridge = 1 / (2 * costs_[i]);
  double sum = sums_[i];
  double gain = 0;
  bool emptied = false;
  lane.random.shuffle(block.members().subspan(1));
  for (auto& member : block.members()) {
    const auto entries = blocks_.entries(i, member, lane.scratch);
    const Projection projection = blocks_.project(i, member, entries, w);
    const double gradient = member.loss - projection.dot - ridge * sum;
    const double curvature = member.squared_norm + projection.extra_curvature + ridge;
    const double dual = std::max(member.dual + gradient / curvature, 0.0);
    const double step = dual - member.dual;
    if (step != 0) {
      blocks_.add(i, member, entries, step, w);
      gain += step * (gradient - step * curvature / 2);
      sum += step;
      member.dual = dual;
      ++lane.updates;
    }
    emptied |= dual == 0;
    blocks_.keep(i, member, entries);
  }
  if (emptied) blocks_.drop_zero_duals(i);
  sums_[i] = block.dual_sum();
  return gain;
}

}  // namespace marginloom
