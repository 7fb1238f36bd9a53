// Sums of numbers that are given by their logarithms.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace marginloom {

inline constexpr double log_of_zero = -std::numeric_limits<double>::infinity();

// log(exp(a) + exp(b))
[[nodiscard]] inline double log_sum(double a, double b) {
  const double greater = std::max(a, b);
  if (greater == log_of_zero) return greater;
  return greater + std::log1p(std::exp(std::min(a, b) - greater));
}

// log of the sum of exp(value(k)) for k < count.
template <class Value>
[[nodiscard]] double log_sum_of(std::size_t count, Value value) {
  double greatest = log_of_zero;
  for (std::size_t k = 0; k < count; ++k) greatest = std::max(greatest, value(k));
  if (greatest == log_of_zero) return greatest;
  double sum = 0;
  for (std::size_t k = 0; k < count; ++k) sum += std::exp(value(k) - greatest);
  return greatest + std::log(sum);
}

// exp(value - log_sum), where that is part of the sum: 0 of 0 is 0.
[[nodiscard]] inline double share(double value, double log_sum) {
  return value == log_of_zero ? 0 : std::exp(value - log_sum);
}

// Makes numbers that are probabilities but for rounding sum to 1.
inline void normalise(std::span<double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  if (sum > 0) {
    for (double& value : values) value /= sum;
  }
}

}  // namespace marginloom
