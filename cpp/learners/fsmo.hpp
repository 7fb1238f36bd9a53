// Fixed-threshold sequential minimal optimisation for the hinge (fastssvm-2021, Algorithms 1 and 2, section 3).
//
//   primal   min_w  1/2 |w|^2 + sum_i C_i xi_i   subject to  w.d_i(y) >= loss_i(y) - xi_i,  xi_i >= 0
//   dual     max_a  sum a_iy loss_i(y) - 1/2 |w|^2   subject to  a >= 0,  sum_y a_iy <= C_i
//            (the paper's C/n is our C)
//   optimal  with g_iy = loss_i(y) - w.d_i(y) and xi_i = max(0, max_y g_iy):
//            g_iy = xi_i where a_iy > 0, g_iy <= xi_i where a_iy = 0, and xi_i = 0 where sum_y a_iy < C_i
//   update   wherever that fails by more than a tolerance, pairwise steps within the example until it holds
//            (SimplexQp); the gold output stands for the slack: a step with it moves one variable alone
//
// Constraints come in batches of so many examples with new ones: one for each example and pass as in the paper, or up
// to `k_best`. After a batch Algorithm 2 runs over the blocks of its examples, at the end of a pass over all blocks;
// the scope `all` runs it over all blocks of the thread after every batch, as the paper does. It
// stops when nothing changes, or, with `inner_stop`, by two rules that look at the gain of a sweep:
//   - that of section 3.2: after 2000 sweeps, once the last 5 brought less than 0.1 each;
//   - `inner_share`: once a sweep brought less than that share of the gap that was last seen, and after one sweep as
//     long as none was. What a sweep over few blocks must bring is less, in proportion to their number.
//
// With several threads each has its part of a batch and solves over its own blocks. As long as the
// others move the weights, steps that overshoot undo each other and no block is ever settled; a solution then ends when
// what a sweep seems to gain no longer falls.
//
// The variant `as_published` makes the steps of Algorithm 2, but where the conditions fail by more than the tolerance
// of half of epsilon, of which the paper has none. Equation 3 has 0 where xi_i is meant, and its steps change one
// variable at a time, clipped to the bound on the sum: once an example's sum is at C_i no other of its variables can
// rise, so it ends far from the optimum. It is there to compare with; its epsilon does not shrink.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "learners/block_problem.hpp"

namespace marginloom {

class Fsmo final : public BlockProblem {
 public:
  enum class Scope { batch, all };
  enum class Variant { pairwise, as_published };

  struct Parameters {
    double epsilon = 0.1;
    int k_best = 1;         // constraints that a search may bring; 0: many if the task lists its outputs, else 1
    std::size_t batch = 0;  // constraints to add between two solutions; 0: a hundredth of the examples
    Scope scope = Scope::batch;
    Variant variant = Variant::pairwise;
    bool inner_stop = false;
    std::size_t inner_iterations = 2000;
    double inner_change = 0.1;
    std::size_t inner_times = 5;
    double inner_share = 0;
    std::size_t memory = Blocks::unlimited;
  };

  Fsmo(std::shared_ptr<const Task> task, ExampleNumbers costs, Parameters parameters);

  Schedule schedule() const override { return {.together = true, .solves_copies = true}; }
  FindOptions search(std::size_t i) const override { return {.k = at_once_, .min_violation = slack(i) + threshold()}; }
  Step solve(std::size_t i, Visit& visit) const override;
  std::optional<Together> due(const Searched& searched) override;
  void note_gap(double primal, double dual) override;
  StateArrays export_state() const override;
  void import_state(const StateArrays& state) override;
  StateArrays merged(const StateArrays& first, const StateArrays& second) const override;

 private:
  [[nodiscard]] bool as_published() const { return parameters_.variant == Variant::as_published; }
  // The gain with which a sweep over so many examples ends a solution.
  [[nodiscard]] double least_gain(std::size_t examples) const;

  Parameters parameters_;
  int at_once_;          // constraints that a search may bring
  std::size_t counted_;  // examples whose weight is not 0
  std::size_t batch_;
  double gap_;  // primal - dual when last seen
};

}  // namespace marginloom
