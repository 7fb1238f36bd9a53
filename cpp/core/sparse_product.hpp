// The product of two sparse vectors.
#pragma once

#include <algorithm>
#include <span>

#include "core/candidate.hpp"

namespace marginloom {

// Entries are sorted by index, each once.
[[nodiscard]] inline double sparse_product(std::span<const Entry> a, std::span<const Entry> b) {
  double sum = 0;
  for (std::size_t j = 0, k = 0; j < a.size() && k < b.size();) {
    if (a[j].index == b[k].index) sum += double{a[j].value} * b[k].value;
    const WeightIndex reached = std::min(a[j].index, b[k].index);
    j += a[j].index == reached ? 1 : 0;
    k += b[k].index == reached ? 1 : 0;
  }
  return sum;
}

}  // namespace marginloom
