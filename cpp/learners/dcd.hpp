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

#include <algorithm>
#include <memory>
#include <vector>

#include "learners/block_learner.hpp"

namespace marginloom {

class Dcd final : public BlockLearner<Dcd> {
 public:
  struct Parameters {
    Loss loss = Loss::squared_hinge;
    double delta = 0.01;
    int k_best = 0;  // candidates that a search may bring; 0: every violated one if the task lists its outputs, else 1
    int inner_passes = 5;
    double shrinking = 0;
    int rest = 0;
    bool averaged = false;
    std::size_t memory = DualBlocks::unlimited;  // bytes for the working sets
  };

  Dcd(std::shared_ptr<const Task> task, std::vector<double> costs, Parameters parameters)
      : BlockLearner({std::move(task), std::move(costs), parameters.loss, parameters.delta, parameters.memory}),
        parameters_(parameters),
        every_(parameters.k_best == 0 && this->task().capabilities().lists_outputs) {}

  FindOptions search(std::size_t i) const override {
    return {.k = std::max(parameters_.k_best, 1),
            .min_violation = problem_.slack(i) + problem_.threshold(),
            .every = every_};
  }
  int inner_passes() const override { return parameters_.inner_passes; }
  double shrinking() const override { return parameters_.shrinking; }
  bool averages_sweeps() const override { return parameters_.averaged; }
  using BlockLearner::improve;
  bool improves_scored() const override { return true; }
  double improve(std::size_t i, const ScoredWeights& w, Lane& lane) override { return improve_block(i, w, lane); }
  bool sends() const override { return true; }
  bool send(std::size_t i, WeightView w, double least_gain, Lane& lane, SentBlock& block) override {
    return problem_.send(i, w, least_gain, lane, tolerance(), block);
  }
  double improve_sent(std::size_t i, SentBlock& block, const LoggedWeights& w, Lane& lane) override {
    return problem_.improve_sent(i, block, w, lane, tolerance());
  }
  void take_back(std::size_t i, const SentBlock& block) override { problem_.take_back(i, block); }
  int longest_rest() const override { return parameters_.rest; }

  template <class Weights>
  double improve_block(std::size_t i, const Weights& w, Lane& lane) {
    return problem_.improve(i, w, lane, tolerance()).gain;
  }

 private:
  [[nodiscard]] double tolerance() const { return problem_.threshold() / 4; }

  Parameters parameters_;
  bool every_;
};

}  // namespace marginloom
