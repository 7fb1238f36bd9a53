// A small dense quadratic programme over a simplex, as the dual of one slack variable gives it:
//
//   max_a  b.a - 1/2 a.H a     subject to  a >= 0,  sum a <= budget            (budget may be infinite)
//
// solved by pairwise steps. What the budget leaves over is one more variable, the slack, with gradient 0 and no
// curvature. A step moves t from the variable with the smallest gradient among the positive ones to the one with the
// largest gradient, t = (g_up - g_down) / (H_uu + H_dd - 2 H_ud), but no more than is there. One-variable steps are
// those whose partner is the slack. At the maximum no pair is left: all positive variables have the same gradient,
// which no other exceeds.
//
// If H = shared everywhere, and `excess` more on the diagonal, the maximum has a closed form. With s = sum a and t =
// shared s plus the price of the budget, a_j = max(0, (b_j - t) / excess). The largest of them belongs to the largest
// b, say b_1, and the others are behind it by c_j = (b_1 - b_j) / excess: a_j = max(0, a_1 - c_j). Over the r smallest
// c_j, whose sum is c: a_1 = min((b_1 + shared c) / (excess + r shared), (budget + c) / r), and r is right when the
// next c_j is not below a_1. However little the excess is, none of this is a small difference of large numbers.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace marginloom {

class SimplexQp {
 public:
  static constexpr double no_budget = std::numeric_limits<double>::infinity();

  struct Outcome {
    double gain = 0;      // in the objective
    double residual = 0;  // largest difference of gradients that a step could have used, before the first one
    std::size_t steps = 0;
  };

  // Forgets H and makes room for `size` variables; H is filled by the caller, both triangles.
  void reset(std::size_t size);
  [[nodiscard]] double& product(std::size_t j, std::size_t k) { return products_[j * size_ + k]; }
  [[nodiscard]] std::span<double> products() { return products_; }  // row by row

  // Moves the variables, which must be feasible, until the residual is at most `tolerance` or `most_steps` are done.
  // `gradient` is b - H a on entry and follows the variables.
  Outcome solve(std::span<double> variables, std::span<double> gradient, double budget, double tolerance,
                std::size_t most_steps) const;

  // The same for the H of uniform products, to the maximum itself; needs no reset(). The excess must be above 0.
  double solve_uniform(std::span<double> variables, std::span<double> gradient, double budget, double shared,
                       double excess);

  // The residual alone, which needs no H.
  [[nodiscard]] static double residual(std::span<const double> variables, std::span<const double> gradient,
                                       double budget);

 private:
  std::size_t size_ = 0;
  std::vector<double> products_;
  std::vector<double> behind_;  // c
  std::vector<double> sorted_;
};

}  // namespace marginloom
