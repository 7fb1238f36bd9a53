// Sums by index, 0 until something is added: a list of those that differ from 0 while these are few, an array from then
// on. Either way a sum is made of the same additions in the same order, so it has the same bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "core/entry_sort.hpp"
#include "core/types.hpp"
#include "core/zeroed_array.hpp"

namespace marginloom {

class SumVector {
 public:
  explicit SumVector(std::size_t size) : size_(size), array_(0) {}

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }

  void add(WeightIndex index, double change) {
    if (!array_.empty()) {
      array_[index] += change;
    } else {
      if (recent_.empty()) recent_.reserve(size_ / kRecentShare + 1);
      recent_.push_back({index, change});
      if (recent_.size() > size_ / kRecentShare) settle();
    }
  }

  // All of the sums, in an array from now on.
  [[nodiscard]] std::span<double> array() {
    if (array_.empty() && size_ > 0) {
      array_ = ZeroedArray(size_);
      for (const Entry& sum : sums_) array_[sum.index] = sum.value;
      for (const Entry& sum : recent_) array_[sum.index] += sum.value;
      sums_ = {};
      recent_ = {};
    }
    return array_.values();
  }

  // values -= the sums.
  void subtract_from(std::span<double> values) const {
    if (!array_.empty()) {
      for (std::size_t k = 0; k < size_; ++k) values[k] -= array_[k];
    } else {
      for (const Entry& sum : merged(sums_, recent_)) values[sum.index] -= sum.value;
    }
  }

  [[nodiscard]] std::vector<double> copy() const {
    if (!array_.empty()) return {array_.values().begin(), array_.values().end()};
    std::vector<double> result(size_);
    for (const Entry& sum : merged(sums_, recent_)) result[sum.index] = sum.value;
    return result;
  }

 private:
  // A sum in the list takes twice the room of one in the array, and one that is being merged as much again; every merge
  // copies all of them. So the list ends well before it would take as much room as the array.
  static constexpr std::size_t kRecentShare = 64, kListShare = 16;

  // The list with what was added to it lately: each index once, in order.
  [[nodiscard]] static std::vector<Entry> merged(const std::vector<Entry>& sums, std::vector<Entry> later) {
    std::vector<Entry> spare;
    sort_by_index(later, spare);
    std::vector<Entry> result;
    result.reserve(sums.size() + later.size());
    auto earlier = sums.begin();
    for (const Entry& sum : later) {
      while (earlier != sums.end() && earlier->index <= sum.index) result.push_back(*earlier++);
      if (!result.empty() && result.back().index == sum.index) {
        result.back().value += sum.value;
      } else {
        result.push_back(sum);
      }
    }
    result.insert(result.end(), earlier, sums.end());
    return result;
  }

  void settle() {
    sums_ = merged(sums_, std::move(recent_));
    recent_ = {};
    if (sums_.size() > size_ / kListShare) static_cast<void>(array());
  }

  std::size_t size_;
  std::vector<Entry> sums_;    // by index
  std::vector<Entry> recent_;  // in the order in which they came
  ZeroedArray array_;          // empty as long as there is a list
};

}  // namespace marginloom
