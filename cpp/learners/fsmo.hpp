// Fixed-threshold sequential minimal optimisation for the hinge (fastssvm-2021, Algorithms 1 and 2, section 3).
//
//   primal   min_w  1/2 |w|^2 + sum_i C_i xi_i   subject to  w.d_i(y) >= loss_i(y) - xi_i,  xi_i >= 0
//   dual     max_a  sum a_iy loss_i(y) - 1/2 |w|^2   subject to  a >= 0,  sum_y a_iy <= C_i   (the paper's C/n is our
//   C) optimal  with g_iy = loss_i(y) - w.d_i(y) and xi_i = max(0, max_y g_iy):
//            g_iy = xi_i where a_iy > 0, g_iy <= xi_i where a_iy = 0, and xi_i = 0 where sum_y a_iy < C_i
//   update   wherever that fails by more than a tolerance, pairwise steps within the example until it holds
//   (SimplexQp);
//            the gold output stands for the slack: a step with it moves one variable alone
//
// Constraints come in batches, at most one per example and pass; after a batch Algorithm 2 runs over all of them. It
// stops when nothing changes, or, if asked for (section 3.2), once it has done 2000 sweeps and the last 5 brought less
// than 0.1 each.
//
// `as_published` is Algorithm 2 to the letter. Equation 3 has 0 where xi_i is meant, and its steps change one variable
// at a time, clipped to the bound on the sum: once an example's sum is at C_i no other of its variables can rise, so it
// ends far from the optimum. It is there to compare with; its epsilon does not shrink.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "learners/block_problem.hpp"

namespace marginloom {

class Fsmo final : public BlockLearner<Fsmo> {
 public:
  struct Parameters {
    double epsilon = 0.1;
    std::size_t batch = 0;  // constraints to add between two solutions; 0: a hundredth of the examples
    bool as_published = false;
    bool inner_stop = false;
    std::size_t inner_iterations = 2000;
    double inner_change = 0.1;
    std::size_t inner_times = 5;
    std::size_t memory = DualBlocks::unlimited;
  };

  Fsmo(std::shared_ptr<const Task> task, std::vector<double> costs, Parameters parameters);

  void absorb(const Candidate& candidate) override;
  void begin_pass() override { added_ = 0; }
  void end_pass(const PlainWeights& w, Lane& lane) override;
  void note_gap(double primal, double dual) override;

  // Solves over all blocks if a batch is complete; other threads' weights allow a step of one block only.
  template <class Weights>
  double improve_block(std::size_t i, const Weights& w, Lane& lane) {
    if constexpr (std::is_same_v<Weights, PlainWeights>) {
      return added_ >= batch_ ? solve(w, lane) : 0;
    } else {
      return problem_.improve(i, w, lane, tolerance()).gain;
    }
  }

 private:
  [[nodiscard]] double tolerance() const { return problem_.threshold() / 2; }
  double solve(const PlainWeights& w, Lane& lane);
  double solve_as_published(const PlainWeights& w, Lane& lane, const std::function<bool(double)>& enough);
  BlockProblem::Step published_step(std::size_t i, const PlainWeights& w, Lane& lane);

  Parameters parameters_;
  std::size_t batch_;
  std::size_t added_ = 0;
};

}  // namespace marginloom
