// Cutting planes with one slack variable for all examples (Joachims, Finley and Yu 2009; SVM-Struct in dcd-ssvm-2013,
// 4.3), hinge.
//
//   primal   min_w  1/2 |w|^2 + xi   subject to  w.g(y_1 .. y_n) >= l(y_1 .. y_n) - xi  for every choice of outputs,
//            with  g = sum_i C_i d_i(y_i)  and  l = sum_i C_i loss_i(y_i)
//   dual     max_{a >= 0, sum_c a_c <= 1}  sum_c a_c l_c - 1/2 |w|^2,   w = sum_c a_c g_c
//   update   a pass of inference with fixed w finds the most violated output of every example; their sum is the most
//            violated constraint. It joins the others, and the small programme over all of them is solved (SimplexQp).
//
// The optimum is that of the hinge with a slack per example: at the most violated choice of outputs xi = sum_i C_i
// xi_i, and a_iy = C_i sum_c a_c [c has y for i] is a feasible point of that dual. (There a constraint is divided by n,
// and sum a <= C.)
//
// Between passes of inference constraints are also put together from a cache of each example's latest candidates, as
// long as they are violated by a tenth of what the last true one was. Constraints whose dual has been 0 for more than
// `inactive` solutions in a row are removed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/simplex_qp.hpp"
#include "core/zeroed_array.hpp"
#include "learners/block_learner.hpp"
#include "learners/blocks.hpp"

namespace marginloom {

class OneSlack final : public BlockLearner {
 public:
  struct Parameters {
    std::size_t cache = 5;      // candidates per example; 0: no cache
    std::size_t inactive = 50;  // solutions in a row that a constraint may have a dual of 0
    std::size_t memory = Blocks::unlimited;
  };

  OneSlack(std::shared_ptr<const Task> task, ExampleNumbers costs, Parameters parameters);

  Schedule schedule() const override { return {.together = true}; }  // nothing before the end of the pass
  FindOptions search(std::size_t) const override { return {.min_violation = 0}; }
  void begin_pass() override;
  void searched(std::size_t i, double bound) override;
  void absorb(const Candidate& candidate, VisitScratch& scratch) override;
  Step solve(std::size_t, Visit&) const override { return {}; }
  void settle(std::size_t, std::span<const double>, const Step&, bool) override {}
  PassEnd end_pass(std::span<double> w, Visit& visit, StopRequest& stop) override;
  double dual(double squared_norm) const override;
  void write_weights(std::span<double> w, int threads = 1) override;
  Held held() const override;
  StateArrays export_state() const override;
  void import_state(const StateArrays& state) override;

 private:
  // One choice of outputs; examples that are not named have their gold output.
  struct Choice {
    std::vector<std::uint64_t> examples;
    std::vector<std::uint64_t> offsets{0};  // of the outputs
    std::vector<std::uint8_t> outputs;

    void add(std::size_t example, ByteView output);
  };
  struct Constraint {
    double dual = 0;
    double loss = 0;
    std::uint64_t idle = 0;
    std::vector<WeightIndex> indices;
    std::vector<double> values;    // of g
    std::vector<double> products;  // with the constraints before it and itself
    Choice choice;
  };

  // Adds a candidate of the example, C_i times, to the constraint in the making.
  void choose(const Candidate& candidate);
  void forget_choice();
  // Makes the constraint that was put together one of the programme.
  void add_constraint();
  bool choose_from_cache(WeightView w, Visit& visit, StopRequest& stop, double least);
  // Solves the programme over all constraints.
  struct Solution {
    double squared_norm = 0;  // of w
    std::size_t updates = 0;  // duals that changed
  };
  Solution solve_constraints(std::span<double> w);
  void remove_inactive();
  [[nodiscard]] std::vector<double> violations() const;
  [[nodiscard]] double slack() const;
  [[nodiscard]] double dot(const Constraint& constraint, std::span<const double> w) const;

  // Blocks are a cache of candidates, and their duals are none: 1 for all.
  Parameters parameters_;
  std::vector<Constraint> constraints_;
  ZeroedArray sum_;  // g in the making, one number per weight
  double loss_sum_ = 0;
  Choice choice_;
  double violation_ = 0;  // sum_i C_i xi_i of the pass
  SimplexQp qp_;
};

}  // namespace marginloom
