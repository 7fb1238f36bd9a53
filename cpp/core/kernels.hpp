// The loops that profit from wide registers, compiled once for each instruction set and chosen when the
// library is loaded. All versions do the same additions in the same order, so their results agree to the bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace marginloom {

// Rows of weights are padded to a multiple of this many doubles: one cache line.
inline constexpr std::size_t row_alignment = 8;

// Rows that row_products() takes at a time.
inline constexpr std::size_t product_rows = 4;

[[nodiscard]] constexpr std::size_t padded(std::size_t columns) {
  return (columns + row_alignment - 1) / row_alignment * row_alignment;
}

// What the dual of a decision of one input may be, see learners/decision_duals.hpp.
struct DecisionTerms {
  double budget;
  double ridge;
  double inverse_curvature;
};

// Losses of wrong decisions in row_alignment columns.
struct DecisionCosts {
  const double* missing;   // of a wrong no
  const double* spurious;  // of a wrong yes
};

struct DecisionMoves {
  bool any;
  bool settled;  // all of them
};

struct Kernels {
  const char* name;

  // out[c] += sum_j rows[row_of[j] * stride + c], for c < stride.
  void (*add_rows)(const double* rows, const std::uint32_t* row_of, std::size_t count, std::size_t stride, double* out);

  // out[c] += sum_j values[j] * rows[row_of[j] * stride + c]; a null `row_of` means 0, 1, 2, ...
  void (*add_scaled_rows)(const double* rows, const std::uint32_t* row_of, const float* values, std::size_t count,
                          std::size_t stride, double* out);
  void (*add_scaled_rows_64)(const double* rows, const std::uint32_t* row_of, const double* values, std::size_t count,
                             std::size_t stride, double* out);

  // The same for rows of row_alignment columns and nothing else, as four sums that do not wait for each other.
  void (*add_scaled_lines)(const double* rows, const std::uint32_t* row_of, const float* values, std::size_t count,
                           double* out);
  void (*add_scaled_lines_64)(const double* rows, const std::uint32_t* row_of, const double* values, std::size_t count,
                              double* out);

  // The same for rows in single precision; their stride must be a multiple of 16.
  void (*add_scaled_singles)(const float* rows, const std::uint32_t* row_of, const float* values, std::size_t count,
                             std::size_t stride, float* out);
  void (*add_scaled_singles_64)(const float* rows, const std::uint32_t* row_of, const double* values, std::size_t count,
                                std::size_t stride, float* out);

  // rows[row_of[j] * stride + c] += values[j] * step[c], for c < stride; a null `row_of` means 0, 1, 2, ... No row may
  // come twice.
  void (*add_to_rows)(double* rows, const std::uint32_t* row_of, const float* values, std::size_t count,
                      std::size_t stride, const double* step);
  void (*add_to_rows_64)(double* rows, const std::uint32_t* row_of, const double* values, std::size_t count,
                         std::size_t stride, const double* step);

  // A product of matrices: out[e * stride + c] += sum_j values[e * count + j] * rows[j * stride + c], for e < examples.
  void (*add_product)(const double* rows, const float* values, std::size_t examples, std::size_t count,
                      std::size_t stride, double* out);
  void (*add_product_64)(const double* rows, const double* values, std::size_t examples, std::size_t count,
                         std::size_t stride, double* out);

  // A product in single precision: out[e * stride + c] += sum_{j < count} values[e * width + j] * rows[j * stride + c],
  // for e < examples; stride must be a multiple of 16.
  void (*add_singles_product)(const float* rows, const float* values, std::size_t width, std::size_t examples,
                              std::size_t count, std::size_t stride, float* out);

  // One step of Viterbi's recursion: best[c] = max over p of previous[p] + transitions[p * stride + c], and next[c] +=
  // best[c], for c < stride; p is one of the `count` labels in `from`, or any below `count` if that is null.
  void (*max_plus)(const double* previous, const double* transitions, const std::uint32_t* from, std::size_t count,
                   std::size_t stride, double* best, double* next);

  // The same without the maximum: out[j * stride + c] = previous[j] + (shared[c] + transitions[from[j] * stride + c]),
  // for j < count and c < stride.
  void (*each_plus)(const double* previous, const double* shared, const double* transitions, const std::uint32_t* from,
                    std::size_t count, std::size_t stride, double* out);

  // Bounds of every row of transitions: lowest[p] <= transitions[p * stride + c] <= highest[p].
  void (*row_bounds)(const double* transitions, std::size_t labels, std::size_t stride, double* lowest,
                     double* highest);

  // Fills `from` with the labels that, by those bounds, may be the best p of some c in max_plus, and returns how many
  // there are. The arrays of numbers are `labels` rounded up to a multiple of row_alignment long.
  std::size_t (*labels_within_reach)(const double* previous, const double* lowest, const double* highest,
                                     std::size_t labels, std::uint32_t* from);

  // Fills `places` with those of the first `count` values that are not below the threshold with `more` added to them,
  // and returns how many there are. Both arrays are `count` rounded up to a multiple of row_alignment long.
  std::size_t (*places_not_below)(const double* values, double more, double threshold, std::size_t count,
                                  std::uint32_t* places);

  // A number that row_alignment of the values at least are not below, as high as is quickly found.
  double (*reached_by_several)(const double* values, std::size_t stride);

  // above[k] = how many of the values are greater than values[k], for k < count, a multiple of row_alignment.
  void (*count_above)(const double* values, std::size_t count, std::uint32_t* above);

  double (*squared_norm)(const double* values, std::size_t count);

  // out[r] = sum_k rows[r * stride + k] * vector[k], for k < count and the product_rows rows r.
  void (*row_products)(const double* rows, std::size_t stride, const double* vector, std::size_t count, double* out);

  // The best step on each of row_alignment decisions, given their scores and the right ones as bits:
  //   g = right ? missing : -spurious, minus score, minus ridge * dual;  dual <- dual + g * inverse_curvature, within
  //   [0, budget] if yes is right, else [-budget, 0]
  // Writes what the duals move by, raises `largest` to the size of g where one moves, and returns whether any does and
  // whether all others are settled: |g| pushes them beyond a bound by more than `limits`.
  DecisionMoves (*step_decisions)(const DecisionTerms& terms, const DecisionCosts& costs, const double* scores,
                                  std::uint8_t right, const double* limits, double* duals, double* steps,
                                  double* largest);

  // slacks[c] = max(0, missing - score if yes is right, else spurious + score), for row_alignment decisions.
  void (*decision_slacks)(const DecisionCosts& costs, const double* scores, std::uint8_t right, double* slacks);
};

// The kernels in use: the widest that the machine has, or the one that MARGINLOOM_SIMD names.
[[nodiscard]] const Kernels& kernels();

// Names of the versions that this machine can run, widest first.
[[nodiscard]] std::vector<std::string_view> available_kernels();

// Switches to the version of that name; false if the machine does not have it. Not while other threads
// compute.
[[nodiscard]] bool select_kernels(std::string_view name);

}  // namespace marginloom
