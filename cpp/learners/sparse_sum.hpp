// A sum of differences of one example, merged: each weight once, sorted.
#pragma once

#include <span>
#include <vector>

#include "core/dirty_blocks.hpp"
#include "core/task.hpp"
#include "core/zeroed_array.hpp"

namespace marginloom {

struct SparseSum {
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
  template <class Weights>
  [[nodiscard]] double dot(const Weights& w) const {
    double sum = 0;
    for (std::size_t k = 0; k < indices.size(); ++k) sum += w.read(indices[k]) * values[k];
    return sum;
  }
  [[nodiscard]] std::size_t memory() const {
    return indices.capacity() * sizeof(WeightIndex) + values.capacity() * sizeof(double);
  }
};

// Calls visit(index, value in a, value in b) for every weight that is in one of the two, in order.
template <class Visit>
void visit_both(const SparseSum& a, const SparseSum& b, Visit visit) {
  std::size_t j = 0;
  std::size_t k = 0;
  while (j < a.indices.size() || k < b.indices.size()) {
    const bool in_a = j < a.indices.size() && (k >= b.indices.size() || a.indices[j] <= b.indices[k]);
    const bool in_b = k < b.indices.size() && (j >= a.indices.size() || b.indices[k] <= a.indices[j]);
    visit(in_a ? a.indices[j] : b.indices[k], in_a ? a.values[j] : 0.0, in_b ? b.values[k] : 0.0);
    j += in_a ? 1 : 0;
    k += in_b ? 1 : 0;
  }
}

// Adds up differences, stored or implicit, and hands out the sum. Made for one thread.
class SparseAdder {
 public:
  explicit SparseAdder(std::size_t dimension) : sum_(dimension), touched_(dimension) {}

  void add(const Task& task, const Candidate& difference, double factor) {
    add_difference(task, difference, factor, TrackedWeights{sum_.values().data(), &touched_});
  }
  // Replaces `result` by what was added since the last call.
  void take(SparseSum& result);

 private:
  void take_block(std::size_t block, SparseSum& result);

  ZeroedArray sum_;  // 0 between uses
  DirtyBlocks touched_;
  std::vector<std::uint32_t> blocks_;
};

}  // namespace marginloom
