// A sum of differences of one example: each weight once, sorted, in double precision.
#pragma once

#include <span>
#include <vector>

#include "core/types.hpp"

namespace marginloom {

struct MergedRow {
  std::vector<WeightIndex> indices;
  std::vector<double> values;
  double squared_norm = 0;

  void clear() {
    indices.clear();
    values.clear();
    squared_norm = 0;
  }
  void push_back(WeightIndex index, double value) {
    indices.push_back(index);
    values.push_back(value);
    squared_norm += value * value;
  }
  [[nodiscard]] std::size_t memory() const {
    return indices.capacity() * sizeof(WeightIndex) + values.capacity() * sizeof(double);
  }
};

// Calls function(index, value in a, value in b) for every weight that is in one of the two, in order.
template <class Function>
void visit_both(const MergedRow& a, const MergedRow& b, Function function) {
  std::size_t j = 0;
  std::size_t k = 0;
  while (j < a.indices.size() || k < b.indices.size()) {
    const bool in_a = j < a.indices.size() && (k >= b.indices.size() || a.indices[j] <= b.indices[k]);
    const bool in_b = k < b.indices.size() && (j >= a.indices.size() || b.indices[k] <= a.indices[j]);
    function(in_a ? a.indices[j] : b.indices[k], in_a ? a.values[j] : 0.0, in_b ? b.values[k] : 0.0);
    j += in_a ? 1 : 0;
    k += in_b ? 1 : 0;
  }
}

}  // namespace marginloom
