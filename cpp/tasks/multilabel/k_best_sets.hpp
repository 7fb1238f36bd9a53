// The best sets of labels one after the other where labels do not interact.
//
// The best set has every label whose gain is positive. Any other set flips some labels and costs the sum of their
// gains' sizes. With labels in the order of these costs, every set of flips but the empty one is reached once from
// {first} by two moves that never make it cheaper: add the label after its last, or put that label in place of its
// last. A heap gives them in order. The m-th set flips no label beyond the first m - 1, so only k - 1 labels have to be
// sorted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace marginloom {

class KBestSets {
 public:
  // Prepares to find up to k sets of the labels with these gains.
  void start(std::span<const double> gains, std::size_t k);

  // Finds the next best set; false if there is none, or k have been found.
  [[nodiscard]] bool next();

  // Of the set found last: its score, and it as bits (label_sets.hpp).
  [[nodiscard]] double score() const { return best_score_ - (found_.empty() ? 0 : found_.back().cost); }
  void write(std::span<std::uint8_t> set) const;

 private:
  static constexpr std::uint32_t none = 0xFFFFFFFF;
  struct Flips {
    double cost = 0;
    std::uint32_t prefix = none;  // number of the set found that has all of it but the last label
    std::uint32_t last = 0;       // place in the order
  };

  [[nodiscard]] double cost_of(std::uint32_t prefix) const { return prefix == none ? 0 : found_[prefix].cost; }
  void offer(std::uint32_t prefix, std::uint32_t last);

  std::span<const double> gains_;
  std::size_t k_ = 0;
  std::size_t count_ = 0;
  double best_score_ = 0;
  std::vector<std::uint32_t> order_;
  std::vector<Flips> found_;  // all but the best set
  std::vector<Flips> heap_;
};

}  // namespace marginloom
