// Cutting planes with a slack variable per example: n-slack (fastssvm-2021, Algorithm 1) and CPD (dcd-ssvm-2013, 4.4.1,
// after Chang et al. 2010).
//
//   primal   min_w  1/2 |w|^2 + sum_i C_i l(xi_i)   subject to  w.d_i(y) >= loss_i(y) - xi_i  for all i and y
//   dual     see block_problem.hpp, restricted to the working sets S_i
//   update   search the most violated y of example i; if its violation exceeds xi_i, the largest within S_i, by more
//            than epsilon, add it to S_i; after `batch` additions solve the dual over all S_i
//
// n-slack solves after every addition, CPD once at the end of a pass (batch = 0), with dual coordinate descent inside.
// The papers write C/n for our C. Epsilon shrinks with the gap, as does the tolerance of the inner solution, which is
// half of it: a constraint that is not worth adding is not worth solving for either.
//
// The inner solver sweeps over the blocks and goes on with those that were not yet optimal; when none is left, it
// sweeps once more over all, since w has moved meanwhile.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "learners/block_problem.hpp"

namespace marginloom {

class CuttingPlane final : public BlockProblem {
 public:
  struct Parameters {
    Loss loss = Loss::hinge;
    double epsilon = 0.1;
    std::size_t batch = 1;  // constraints to add between two solutions; 0: those of a whole pass
    std::size_t memory = Blocks::unlimited;
  };

  CuttingPlane(std::shared_ptr<const Task> task, ExampleNumbers costs, Parameters parameters);

  Schedule schedule() const override { return {.together = true}; }
  std::optional<Together> due(const Searched& searched) override;

 private:
  Parameters parameters_;
};

}  // namespace marginloom
