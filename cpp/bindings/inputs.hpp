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

// Without offsets the matrix is dense. The arrays must outlive what is made of the result.
[[nodiscard]] inline InputData input_data(std::size_t rows, std::size_t columns,
                                          const OptionalArray<std::uint64_t>& offsets,
                                          const OptionalArray<std::uint32_t>& indices,
                                          const OptionalArray<float>& singles, const OptionalArray<double>& doubles,
                                          double bias) {
  return {.row_count = rows,
          .column_count = columns,
          .dense = !offsets.has_value(),
          .offsets = view_or_empty(offsets),
          .columns = view_or_empty(indices),
          .singles = view_or_empty(singles),
          .doubles = view_or_empty(doubles),
          .bias = bias};
}

}  // namespace marginloom::python
