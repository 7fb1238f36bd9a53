// What sums over paths through a chain are computed with: plain numbers, or their logarithms where a double is too
// small or too large.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "core/aligned_vector.hpp"
#include "core/kernels.hpp"
#include "core/log_sum.hpp"

namespace marginloom {

// Numbers as they are. One that a double cannot hold is 0. That loses too little to count as long as nothing else is
// far from 1: a row's greatest number before it is divided by that, what beginnings and ends of paths share at a token,
// and factors above 1. Where one of them is beyond these limits, logarithms are needed.
struct PlainNumbers {
  static constexpr bool logarithms = false;
  static constexpr double zero = 0;
  static constexpr double one = 1;
  static constexpr double least_of_row = 1e-60;
  static constexpr double least_shared = 1e-150;
  static constexpr double greatest_log = 90;
  static double of_log(double log) { return std::exp(log); }
  static double times(double a, double b) { return a * b; }
  static double over(double a, double b) { return a / b; }
  static double plus(double a, double b) { return a + b; }
  // sums[c] += sum_p values[p] * matrix[p][c]
  static void add_product(const double* values, const double* matrix, std::size_t count, std::size_t stride,
                          double* sums) {
    kernels().add_scaled_rows_64(matrix, nullptr, values, count, stride, sums);
  }
  [[nodiscard]] static bool loses_in_row(double greatest) {
    return !(greatest >= least_of_row && std::isfinite(greatest));
  }
  [[nodiscard]] static bool loses_in_path(double shared) { return !(shared >= least_shared && std::isfinite(shared)); }
  [[nodiscard]] static bool loses_by_factor(double log) { return !(log <= greatest_log); }
};

// Their logarithms, which lose nothing.
struct LogNumbers {
  static constexpr bool logarithms = true;
  static constexpr double zero = log_of_zero;
  static constexpr double one = 0;
  static double of_log(double log) { return log; }
  static double times(double a, double b) { return a + b; }
  static double over(double a, double b) { return a == zero ? zero : a - b; }
  static double plus(double a, double b) { return log_sum(a, b); }
  static void add_product(const double* values, const double* matrix, std::size_t count, std::size_t stride,
                          double* sums) {
    for (std::size_t p = 0; p < count; ++p) {
      if (values[p] == zero) continue;
      const double* const row = matrix + p * stride;
      for (std::size_t c = 0; c < count; ++c) sums[c] = log_sum(sums[c], values[p] + row[c]);
    }
  }
  [[nodiscard]] static bool loses_in_row(double) { return false; }
  [[nodiscard]] static bool loses_in_path(double shared) { return !std::isfinite(shared); }
  [[nodiscard]] static bool loses_by_factor(double) { return false; }
};

// Divides numbers by the greatest one, which is returned.
template <class Numbers>
double divide_by_greatest(std::span<double> numbers) {
  const double greatest = *std::max_element(numbers.begin(), numbers.end());
  if (greatest == Numbers::zero) return greatest;
  for (double& number : numbers) number = Numbers::over(number, greatest);
  return greatest;
}

// exp(scale score) of the labels of every token, relative to the best one of the token: the same constant for all
// paths.
template <class Numbers>
void find_potentials(std::span<const double> scores, std::size_t labels, std::size_t stride, double scale,
                     AlignedVector<double>& potentials) {
  potentials.assign(scores.size(), Numbers::zero);
  for (std::size_t first = 0; first < scores.size(); first += stride) {
    const auto own = scores.subspan(first, labels);
    const double greatest = *std::ranges::max_element(own);
    for (std::size_t c = 0; c < labels && greatest != log_of_zero; ++c) {
      potentials[first + c] = Numbers::of_log(scale * (own[c] - greatest));
    }
  }
}

}  // namespace marginloom
