// Weights in rows, one for every feature, with a column for every label.
#pragma once

#include <cstddef>

#include "core/kernels.hpp"

namespace marginloom {

struct WeightRows {
  std::size_t count = 0;
  std::size_t columns = 0;

  // Numbers from one row to the next: the columns, and padding that is always 0.
  [[nodiscard]] constexpr std::size_t stride() const { return padded(columns); }
  [[nodiscard]] constexpr std::size_t size() const { return count * stride(); }
};

}  // namespace marginloom
