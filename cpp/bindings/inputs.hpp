// Inputs of classifiers as numpy arrays.
#pragma once

#include <optional>

#include "bindings/bindings.hpp"
#include "core/input_matrix.hpp"

namespace marginloom::python {

template <class T>
using OptionalArray = std::optional<InputArray<T>>;

template <class T>
[[nodiscard]] std::span<const T> view_or_empty(const OptionalArray<T>& array) {
  return array ? view(*array) : std::span<const T>();
}

// A matrix with a row per example, dense if it has no offsets; see InputData. It keeps the arrays for as long as it
// lives, and so must whatever keeps views of them.
struct InputRows {
  std::size_t rows = 0;
  std::size_t columns = 0;
  OptionalArray<std::uint64_t> offsets = {};
  OptionalArray<std::uint32_t> indices = {};
  OptionalArray<float> singles = {};
  OptionalArray<double> doubles = {};
  double bias = 0;

  [[nodiscard]] InputData data() const {
    return {.row_count = rows,
            .column_count = columns,
            .dense = !offsets.has_value(),
            .offsets = view_or_empty(offsets),
            .columns = view_or_empty(indices),
            .singles = view_or_empty(singles),
            .doubles = view_or_empty(doubles),
            .bias = bias};
  }
};

}  // namespace marginloom::python
