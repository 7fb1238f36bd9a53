// Solving the blocks of some examples by themselves, with weights of their own: what a part of a cascade does.
//
//   max_a  sum a_iy loss_iy - 1/2 |rest + sum a_iy d_iy|^2,  a >= 0,  sum_y a_iy <= C_i,   i among these examples
//
// `rest` is what all examples outside of the solution add to the weights: nothing, if it is of the whole working set.
// Blocks of other examples may come along as a context. They are solved for too, so that they can give way, and what
// becomes of them is forgotten: an example's duals are taken from its owner only.
//
// One thread is the rule. Several share the weights of the problem and add to them atomically; what they do is checked
// as safeguard.hpp does it, within the solution: where the dual gained less than they expected, the curvature counts
// more often, and where it fell, the duals go back to the best point on their way.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "core/parallel.hpp"
#include "core/team.hpp"
#include "core/weight_buffer.hpp"
#include "learners/block_learner.hpp"

namespace marginloom {

// What all parts of a layer have in common. The values must outlive the solution.
struct Layer {
  const Together* how = nullptr;  // its examples do not count
  Blocks* blocks = nullptr;       // of all examples of all parts; each part changes those of its own
  std::span<const std::size_t> context = {};
  Blocks* context_blocks = nullptr;  // of which each part makes copies
  WeightView rest = {};              // empty: nothing
};

// One part of it.
struct LayerPart {
  std::span<const std::size_t> examples;
  std::uint64_t seed = 0;
};

struct PartSolved {
  std::size_t updates = 0;  // duals that changed, those of the context too
  double gain = 0;
  bool stopped = false;
};

// How far to go on the way from w0 to w1, from 0 to 1: as far as the dual rises if it falls on the whole way, else all
// of it. `losses` is the sum of loss times change of the dual.
[[nodiscard]] double best_share_of_way(WeightView w0, WeightView w1, double losses);

class Subproblem {
 public:
  // Learner and threads must outlive it. The learner says how a block is improved, and its own blocks are not used.
  Subproblem(const BlockLearner& learner, const Blocks& kind);

  [[nodiscard]] PartSolved solve(const Layer& layer, const LayerPart& part, StopRequest& stop);
  // The same on several threads.
  [[nodiscard]] PartSolved solve(const Layer& layer, const LayerPart& part, Team& team, StopRequest& stop);

  // What the last solution has led to.
  [[nodiscard]] WeightView weights() const { return weights_.values(); }

 private:
  void begin(const Layer& layer, const LayerPart& part);
  void end();
  [[nodiscard]] Blocks& holder(std::size_t item) { return item < own_ ? *blocks_ : context_; }
  Step improve(std::size_t item, const WeightWriter& writer, Visit& visit);
  [[nodiscard]] PartSolved sweep_on(Team& team, const Layer& layer, const LayerPart& part, double damping,
                                    StopRequest& stop);
  // Goes back where the dual fell; returns what it gained.
  double check(const std::vector<double>& duals, WeightView weights);
  [[nodiscard]] std::vector<double> duals();

  const BlockLearner& learner_;
  Blocks context_;  // copies, which this problem changes
  Blocks* blocks_ = nullptr;
  std::vector<std::size_t> examples_;  // its own, then those of the context
  std::vector<std::size_t> items_;     // places among them whose blocks are not empty
  std::size_t own_ = 0;
  std::vector<bool> is_own_;  // by example
  WeightBuffer weights_;
  std::deque<Visit> visits_;  // one per thread
};

}  // namespace marginloom
