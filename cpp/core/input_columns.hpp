// Scores of an input, and steps on them, where a few columns of the weights are concerned and not all.
//
// Weights are as for InputMatrix: rows of `stride` doubles, one per feature.
#pragma once

#include <cstddef>
#include <span>

#include "core/input_matrix.hpp"
#include "core/kernels.hpp"
#include "core/score_steps.hpp"
#include "core/types.hpp"
#include "core/weight_writer.hpp"

namespace marginloom {

// Whether touching whole rows with wide registers is faster than touching so many columns of them: from as many as a
// row has cache lines.
[[nodiscard]] constexpr bool whole_rows_are_faster(std::size_t columns, std::size_t stride) {
  return stride <= columns * row_alignment;
}

// scores[c] = sum_f x_f rows[f * stride + c] for the columns c that are named.
void score_columns(const InputMatrix& inputs, std::size_t row, std::span<const std::size_t> columns, const double* rows,
                   std::size_t stride, double* scores);

// rows[f * stride + first_column + c] += x_f step, for every step on a score c.
void add_to_columns(const InputMatrix& inputs, std::size_t row, std::span<const ScoreStep> steps,
                    std::size_t first_column, std::size_t stride, const WeightWriter& rows);

}  // namespace marginloom
