// Newton's method on all blocks at once, for tasks with few weights, squared hinge and hinge: features may be of very
// different sizes, where steps on one block at a time take for ever.
//
//   dual     see block_problem.hpp, restricted to the working sets; v_iy(w) = loss_iy - w.d_iy
//   step     from the duals b to the proximal point  argmax_a  dual(a) - sum_i |a_i - b_i|^2 / (2 s_i),  s_i = s C_i,
//            by way of its own dual (Rockafellar 1976), which is smooth and has as many variables as there are weights:
//              min_w  f(w) = 1/2 |w|^2 + sum_i max_{a_i} [a_i.v_i(w) - r_i/2 (sum_y a_iy)^2 - |a_i - b_i|^2 / (2 s_i)]
//            with r_i = 1 / (2 C_i) for the squared hinge, else 0. The maximum over a_i has a closed form (SimplexQp).
//   Newton   gradient  w - sum a_iy d_iy,  and with A_i = {y : a_iy > 0}, u_i = sum_{y in A_i} d_iy (Li, Sun and Toh
//   2018)
//            H = I + sum_i s_i (sum_{y in A_i} d_iy d_iy^T - c_i u_i u_i^T)
//            c_i = 1 / |A_i| where the hinge's budget is used up, else r_i s_i / (1 + |A_i| r_i s_i)
//
// f is piecewise quadratic: once the sets A_i stay what they are, a step is exact and w is what the duals say. The
// larger s is, the closer the proximal point is to the optimum and the more pieces there are on the way; s grows
// while few steps suffice and shrinks when they do not. A pass searches and visits all examples as dual coordinate
// descent does, so that few candidates have a dual, and then makes one proximal step. The dual never falls.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/curvature.hpp"
#include "learners/block_problem.hpp"

namespace marginloom {

class Newton final : public BlockProblem {
 public:
  struct Parameters {
    Loss loss = Loss::squared_hinge;
    double delta = 0.01;  // violation beyond the slack from which a candidate is kept, at most
    std::size_t memory = Blocks::unlimited;
  };

  Newton(std::shared_ptr<const Task> task, ExampleNumbers costs, Parameters parameters)
      : BlockProblem({std::move(task), std::move(costs), parameters.loss}, parameters.delta, parameters.memory,
                     {.of_rows = parameters.loss == Loss::hinge}) {}

  FindOptions search(std::size_t i) const override {
    return {.k = at_once(0), .min_violation = slack(i) + threshold()};
  }
  PassEnd end_pass(std::span<double> w, Visit& visit, StopRequest& stop) override;
  StateArrays export_state() const override;
  void import_state(const StateArrays& state) override;
  StateArrays merged(const StateArrays& first, const StateArrays& second) const override;

 private:
  // The candidates of one example, which lie one after the other in the lists of all.
  struct Group {
    std::size_t example;
    std::size_t first;
    std::size_t count;
    BlockTerms terms;
    double reach;  // s_i
  };
  // Weights, the duals that maximise f there, and what f is.
  struct Point {
    std::vector<double> weights;
    std::vector<double> duals;
    std::vector<double> violations;
    std::vector<double> gradient;
    double value = 0;
  };

  void collect_candidates();
  void evaluate(Point& point, Visit& visit);
  // Of one example; leaves the block open, and in `numbers_` what its duals take from the gradient.
  [[nodiscard]] double evaluate(const Group& group, Point& point, Visit& visit);
  // Minimises f from the point; false if that takes too many steps or was stopped.
  [[nodiscard]] bool minimise(Point& point, Visit& visit, StopRequest& stop);
  // The step of Newton's method; false if there is none.
  [[nodiscard]] bool find_direction(const Point& point, std::vector<double>& direction, Visit& visit);
  void add_curvature(const Group& group, const Point& point, Visit& visit);
  // Adds factor * v v^T, v the sum of `numbers_` times the differences of the open block.
  void add_square(const Group& group, double factor, Visit& visit);
  // Whether the same candidates have a dual, and the same budgets are used up: f is one quadratic function.
  [[nodiscard]] bool on_same_piece(const Point& first, const Point& second) const;
  [[nodiscard]] static bool is_used_up(const Group& group, const Point& point);
  // The dual objective of the point's duals, which rounding may have made worse than those that there are.
  [[nodiscard]] double dual_at(const Point& point) const;
  // Takes over the duals; returns primal - dual over the working sets.
  [[nodiscard]] double accept(const Point& point, std::span<double> w);

  static constexpr double first_reach = 0.02;  // small, for many candidates would come and go

  double reach_ = first_reach;  // s

  // Of one pass.
  std::vector<Group> groups_;
  std::vector<double> centre_;  // b
  Curvature curvature_;
  std::vector<double> numbers_;  // one per candidate of a block
  std::vector<double> vector_;   // one per weight, all 0 between uses
  int steps_ = 0;                // that the last minimum took
};

}  // namespace marginloom
