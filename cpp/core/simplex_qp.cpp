#include "core/simplex_qp.hpp"

#include <algorithm>

namespace marginloom {
namespace {

constexpr std::size_t slack = std::numeric_limits<std::size_t>::max();

struct Pair {
  std::size_t up = slack;
  std::size_t down = slack;
  double residual = 0;
};

Pair most_violating(std::span<const double> variables, std::span<const double> gradient, double left) {
  double highest = 0;
  double lowest = left > 0 ? 0 : std::numeric_limits<double>::infinity();
  Pair pair;
  for (std::size_t j = 0; j < variables.size(); ++j) {
    if (gradient[j] > highest) {
      highest = gradient[j];
      pair.up = j;
    }
    if (variables[j] > 0 && gradient[j] < lowest) {
      lowest = gradient[j];
      pair.down = j;
    }
  }
  pair.residual = std::max(highest - lowest, 0.0);
  return pair;
}

// A remainder within rounding of the budget is none: no step could use it up, and it would make every solution whose
// budget is spent look unsolved.
double what_is_left(std::span<const double> variables, double budget) {
  constexpr double rounding = 1e-13;
  if (budget == SimplexQp::no_budget) return budget;
  double left = budget;
  for (const double value : variables) left -= value;
  return left > rounding * budget ? left : 0;
}

// The maximum over one variable; returns the gain.
double solve_one(double& variable, double& gradient, double budget, double curvature) {
  const double step = std::clamp(variable + gradient / curvature, 0.0, budget) - variable;
  const double after = gradient - curvature * step;
  const double gain = step * (gradient + after) / 2;
  variable += step;
  gradient = after;
  return std::max(gain, 0.0);
}

// Blocks are small, most of them so small that calling a sorting function takes longer than sorting.
void sort_rising(std::span<const double> values, std::span<double> sorted) {
  constexpr std::size_t few = 8;
  if (values.size() > few) {
    std::ranges::copy(values, sorted.begin());
    std::ranges::sort(sorted);
    return;
  }
  for (std::size_t j = 0; j < values.size(); ++j) {
    std::size_t place = j;
    for (; place > 0 && sorted[place - 1] > values[j]; --place) sorted[place] = sorted[place - 1];
    sorted[place] = values[j];
  }
}

// Where b = gradient + H a is largest, found without what all have in common.
std::size_t place_of_largest(std::span<const double> variables, std::span<const double> gradient, double excess) {
  std::size_t first = 0;
  for (std::size_t j = 1; j < gradient.size(); ++j) {
    if (gradient[j] - gradient[first] > excess * (variables[first] - variables[j])) first = j;
  }
  return first;
}

}  // namespace

void SimplexQp::reset(std::size_t size) {
  size_ = size;
  products_.assign(size * size, 0.0);
}

double SimplexQp::residual(std::span<const double> variables, std::span<const double> gradient, double budget) {
  return most_violating(variables, gradient, what_is_left(variables, budget)).residual;
}

double SimplexQp::solve_uniform(std::span<double> variables, std::span<double> gradient, double budget, double shared,
                                double excess) {
  const std::size_t size = variables.size();
  if (size == 1) return solve_one(variables[0], gradient[0], budget, shared + excess);
  behind_.resize(size);
  sorted_.resize(size);
  const std::size_t first = place_of_largest(variables, gradient, excess);
  double sum = 0;
  for (std::size_t j = 0; j < size; ++j) {
    sum += variables[j];
    behind_[j] = std::max((gradient[first] - gradient[j]) / excess + (variables[first] - variables[j]), 0.0);
  }
  sort_rising(behind_, sorted_);
  const double largest = gradient[first] + excess * variables[first] + shared * sum;  // of b
  double total = 0;
  double most = 0;  // of a
  for (std::size_t r = 0; r < size && (r == 0 || sorted_[r] < most); ++r) {
    total += sorted_[r];
    const auto count = static_cast<double>(r + 1);
    most = std::min((largest + shared * total) / (excess + count * shared), (budget + total) / count);
  }
  double after = 0;  // the sum
  for (double& value : behind_) after += value = std::max(most - value, 0.0);
  const double share = after > budget ? budget / after : 1;  // rounding must not exceed the budget
  double change = -sum;
  for (double& value : behind_) change += value *= share;
  double gain = 0;
  for (std::size_t j = 0; j < size; ++j) {
    const double step = behind_[j] - variables[j];
    const double left = gradient[j] - excess * step - shared * change;
    gain += step * (gradient[j] + left) / 2;
    gradient[j] = left;
    variables[j] = behind_[j];
  }
  return std::max(gain, 0.0);
}

SimplexQp::Outcome SimplexQp::solve(std::span<double> variables, std::span<double> gradient, double budget,
                                    double tolerance, std::size_t most_steps) const {
  const auto at = [&](std::size_t j, std::size_t k) {
    return j == slack || k == slack ? 0.0 : products_[j * size_ + k];
  };
  Outcome outcome;
  double left = what_is_left(variables, budget);
  for (; outcome.steps < most_steps; ++outcome.steps) {
    const auto [up, down, residual] = most_violating(variables, gradient, left);
    if (outcome.steps == 0) outcome.residual = residual;
    if (residual <= tolerance) break;
    const double curvature = at(up, up) + at(down, down) - 2 * at(up, down);
    const double available = down == slack ? left : variables[down];
    const double step = curvature * available > residual ? residual / curvature : available;
    if (!(step > 0) || step == no_budget) break;
    (up == slack ? left : variables[up]) += step;
    (down == slack ? left : variables[down]) -= step;
    for (std::size_t j = 0; j < gradient.size(); ++j) gradient[j] -= step * (at(j, up) - at(j, down));
    outcome.gain += step * (residual - step * curvature / 2);
  }
  return outcome;
}

}  // namespace marginloom
