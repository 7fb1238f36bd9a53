// Which weights may have been changed since some moment, for whoever looks at those only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/types.hpp"

namespace marginloom {

// One mark for every `each` neighbouring weights: a mark costs one write, and they are all found at the speed of
// memory.
template <std::size_t each>
class WeightMarks {
 public:
  explicit WeightMarks(std::size_t dimension) : dimension_(dimension), marks_((dimension + each - 1) / each, 0) {}

  void mark(WeightIndex k) { marks_[k / each] = 1; }
  void mark_all() {
    if (!all_) std::ranges::fill(marks_, std::uint8_t{1});
    all_ = true;
  }
  void clear() {
    std::ranges::fill(marks_, std::uint8_t{0});
    all_ = false;
  }
  // Whether mark_all() was called since they were cleared.
  [[nodiscard]] bool all() const { return all_; }
  // Which marks are set, the first having the number 0.
  [[nodiscard]] std::vector<std::uint64_t> numbers() const {
    constexpr std::size_t word = sizeof(std::uint64_t);
    std::vector<std::uint64_t> result;
    for (std::size_t first = 0; first < marks_.size(); first += word) {
      const std::size_t last = std::min(first + word, marks_.size());
      std::uint64_t several = 0;
      std::memcpy(&several, marks_.data() + first, last - first);
      for (std::size_t k = first; several != 0 && k < last; ++k) {
        if (marks_[k]) result.push_back(k);
      }
    }
    return result;
  }

  // Where to cut the weights into so many parts that have no mark in common, so that each may have a thread.
  [[nodiscard]] std::size_t cut(std::size_t part, std::size_t parts) const {
    return std::min(part * marks_.size() / parts * each, dimension_);
  }

  // Calls function(first, last) for each run first ... last - 1 of marked weights, in their order, of all weights or of
  // those between two cuts.
  template <class Function>
  void for_each_run(Function function) const {
    for_each_run(0, dimension_, function);
  }
  template <class Function>
  void for_each_run(std::size_t begin, std::size_t end, Function function) const {
    const std::size_t last = (end + each - 1) / each;
    for (std::size_t first = next(begin / each, last, 1); first < last;) {
      const std::size_t behind = next(first, last, 0);
      function(first * each, std::min(behind * each, dimension_));
      first = next(behind, last, 1);
    }
  }

  // to[k] = from[k] for the weights between two cuts, as far as they are marked.
  void copy(std::size_t begin, std::size_t end, std::span<const double> from, std::span<double> to) const {
    for_each_run(begin, end, [&](std::size_t first, std::size_t last) {
      std::ranges::copy(from.subspan(first, last - first), to.subspan(first).begin());
    });
  }

 private:
  // The first mark of that value in first ... last - 1, or last.
  [[nodiscard]] std::size_t next(std::size_t first, std::size_t last, int value) const {
    if (first == last) return last;
    const void* found = std::memchr(marks_.data() + first, value, last - first);
    return found ? static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - marks_.data()) : last;
  }

  std::size_t dimension_;
  std::vector<std::uint8_t> marks_;
  bool all_ = false;  // of them are set
};

// Few marks, which are found soon, or many, which say more precisely what has changed.
using TouchedWeights = WeightMarks<16>;
using ChangedWeights = WeightMarks<4>;

}  // namespace marginloom
