// Dual coordinate descent for the structured SVM (dcd-ssvm-2013, Algorithms 1 to 3), squared hinge and hinge.
//
//   primal   min_w  1/2 |w|^2 + sum_i C_i l(xi_i),   xi_i = max(0, max_y [loss_i(y) - w.d_i(y)]),  l(xi) = xi^2 or xi
//   dual     max_{a >= 0}  sum a_iy loss_i(y) - 1/2 |w|^2 - sum_i (sum_y a_iy)^2 / (4 C_i)               squared hinge
//            max_{a >= 0, sum_y a_iy <= C_i}  sum a_iy loss_i(y) - 1/2 |w|^2                               hinge
//            with w = sum a_iy d_i(y)  and  d_i(y) = phi(x_i, y_i) - phi(x_i, y)
//   update   of one variable of the squared hinge, all others fixed:
//            g = loss_i(y) - w.d_i(y) - sum_y' a_iy' / (2 C_i)          (gradient)
//            h = |d_i(y)|^2 + 1 / (2 C_i)                               (curvature)
//            a_iy <- max(a_iy + g / h, 0), and w moves by the change of a_iy times d_i(y)
//            of a block of the hinge: solved as a whole (block_problem.hpp); the paper has no hinge
//
// A block is one example. Algorithm 2 (dcd-light) has no inner passes, Algorithm 3 (dcd-ssvm) has r of them. Line 6 of
// Algorithm 2 absorbs a candidate whose violation exceeds the block's slack by delta; here delta shrinks with the gap.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/common.hpp"
#include "learners/block_problem.hpp"

namespace marginloom {

class Dcd final : public BlockProblem {
 public:
  // Python names every one of them, so what users get by default is said there alone; these are the paper's.
  struct Parameters {
    Loss loss = Loss::squared_hinge;
    double delta = 0.01;
    int k_best = 0;  // candidates that a search may bring; 0: many if the task lists its outputs, else 1
    int inner_passes = 5;
    int sweeps = 1;  // over the candidates of an example in one visit, at most
    double shrinking = 0;
    int rest = 0;
    bool averaged = false;
    std::size_t memory = Blocks::unlimited;  // bytes for the blocks; 0: none
  };

  Dcd(std::shared_ptr<const Task> task, ExampleNumbers costs, Parameters parameters)
      : BlockProblem({std::move(task), std::move(costs), parameters.loss}, parameters.delta, parameters.memory,
                     {.of_rows = parameters.loss == Loss::hinge || parameters.sweeps > 1}),
        parameters_(parameters),
        at_once_(at_once(parameters.k_best)) {
    require(parameters.k_best <= 1 || this->task().capabilities().k_best, "this task has no k-best inference");
    sweeps_ = parameters.sweeps;
  }

  Schedule schedule() const override {
    return {.inner_passes = parameters_.inner_passes,
            .shrinking = parameters_.shrinking,
            .most_skipped = parameters_.rest,
            .averaged = parameters_.averaged,
            .solves_copies = true};
  }
  FindOptions search(std::size_t i) const override { return {.k = at_once_, .min_violation = slack(i) + threshold()}; }

 private:
  double tolerance() const override { return threshold() / 4; }

  Parameters parameters_;
  int at_once_;  // candidates that a search may bring
};

}  // namespace marginloom
