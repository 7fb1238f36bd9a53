#include "core/input_columns.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace marginloom {
namespace {

constexpr std::size_t widest_row = 256;  // that fits on the stack
constexpr std::size_t few = 5;           // columns: the loops over them are unrolled
constexpr std::size_t most = 64;         // columns that one visit of the input serves

// Calls call(the count as an integral constant) for a count of 1 to `few`.
template <std::size_t count = 1, class Call>
void with_few(std::size_t wanted, Call call) {
  if constexpr (count < few) {
    if (wanted != count) return with_few<count + 1>(wanted, call);
  }
  call(std::integral_constant<std::size_t, count>());
}

template <std::size_t count>
void score_few(const InputMatrix& inputs, std::size_t row, const std::size_t* columns, const double* rows,
               std::size_t stride, double* scores) {
  std::size_t places[count];
  double sums[count] = {};
  std::copy_n(columns, count, places);
  inputs.visit(row, [&](std::size_t feature, double value) __attribute__((always_inline)) {
    const double* weights = rows + feature * stride;
    for (std::size_t j = 0; j < count; ++j) sums[j] += value * weights[places[j]];
  });
  for (std::size_t j = 0; j < count; ++j) scores[places[j]] = sums[j];
}

template <std::size_t count>
void add_to_few(const InputMatrix& inputs, std::size_t row, const ScoreStep* steps, std::size_t first_column,
                std::size_t stride, const WeightWriter& rows) {
  ScoreStep own[count];
  std::copy_n(steps, count, own);
  rows.with_add([&](auto add) {
    inputs.visit(row, [&](std::size_t feature, double value) __attribute__((always_inline)) {
      const std::size_t first = feature * stride + first_column;
      for (std::size_t j = 0; j < count; ++j) {
        add(static_cast<WeightIndex>(first + own[j].score), own[j].value * value);
      }
    });
  });
}

void add_to_many(const InputMatrix& inputs, std::size_t row, std::span<const ScoreStep> steps, std::size_t first_column,
                 std::size_t stride, const WeightWriter& rows) {
  rows.with_add([&](auto add) {
    inputs.visit(row, [&](std::size_t feature, double value) {
      const std::size_t first = feature * stride + first_column;
      for (const ScoreStep& step : steps) add(static_cast<WeightIndex>(first + step.score), step.value * value);
    });
  });
}

}  // namespace

void score_columns(const InputMatrix& inputs, std::size_t row, std::span<const std::size_t> columns, const double* rows,
                   std::size_t stride, double* scores) {
  for (std::size_t next = 0; next < columns.size(); next += few) {
    with_few(std::min(few, columns.size() - next),
             [&](auto count) { score_few<count()>(inputs, row, columns.data() + next, rows, stride, scores); });
  }
}

void add_to_columns(const InputMatrix& inputs, std::size_t row, std::span<const ScoreStep> steps,
                    std::size_t first_column, std::size_t stride, const WeightWriter& rows) {
  if (rows.plain() && stride <= widest_row && whole_rows_are_faster(steps.size(), stride)) {
    double change[widest_row];
    std::fill_n(change, stride, 0.0);
    for (const ScoreStep& step : steps) change[first_column + step.score] += step.value;
    return inputs.add_to_rows(row, change, stride, rows.plain());
  }
  if (steps.empty()) return;
  if (steps.size() <= few) {
    return with_few(steps.size(),
                    [&](auto count) { add_to_few<count()>(inputs, row, steps.data(), first_column, stride, rows); });
  }
  // Some at a time, so that neighbouring weights are visited one after the other.
  for (std::size_t next = 0; next < steps.size(); next += most) {
    const std::size_t count = std::min(most, steps.size() - next);
    add_to_many(inputs, row, steps.subspan(next, count), first_column, stride, rows);
  }
}

}  // namespace marginloom
