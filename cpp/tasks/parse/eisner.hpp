// The best projective tree by Eisner's algorithm, in O(n^3) time and O(n^2) memory.
//
// Spans of words grow from one word to all of them. A span that is *open* has an arc between its ends; one that is
// *full* has its head at one end, with all modifiers on that side within:
//
//   open(i, j)   = max over i <= r < j of full(i, r) + full(j, r + 1), and the score of the arc, either way
//   full(h, e)   = max over r from beside h to e of open(h, r) + full(r, e)
//
// Every projective tree is built in one way only. With one root, words alone are spanned, and the arc from the root is
// added last; with many, the root is the first of the words.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "tasks/parse/trees.hpp"

namespace marginloom {

// Full spans by head and end, both ways round, so that loops over splits read memory in order.
class FullSpans {
 public:
  void resize(std::size_t side);
  void set(std::size_t head, std::size_t end, double score, std::size_t split) {
    by_head_[head * side_ + end] = by_end_[end * side_ + head] = score;
    splits_[head * side_ + end] = static_cast<std::uint16_t>(split);
  }
  [[nodiscard]] double score(std::size_t head, std::size_t end) const { return by_head_[head * side_ + end]; }
  [[nodiscard]] const double* of_head(std::size_t head) const { return by_head_.data() + head * side_; }
  [[nodiscard]] const double* of_end(std::size_t end) const { return by_end_.data() + end * side_; }
  [[nodiscard]] std::size_t split(std::size_t head, std::size_t end) const { return splits_[head * side_ + end]; }

 private:
  std::size_t side_ = 0;
  std::vector<double> by_head_, by_end_;
  std::vector<std::uint16_t> splits_;
};

struct Split {
  double score = -std::numeric_limits<double>::infinity();
  std::size_t place = 0;
};

// The greatest first[r] + second[r] for begin <= r < end, the earliest of equals.
[[nodiscard]] inline Split best_split(const double* first, const double* second, std::size_t begin, std::size_t end) {
  Split best{first[begin] + second[begin], begin};
  for (std::size_t r = begin + 1; r < end; ++r) {
    const double sum = first[r] + second[r];
    if (sum > best.score) best = {sum, r};
  }
  return best;
}

class Eisner {
 public:
  // Writes the best tree; returns its score, minus infinity if every tree has an arc that scores that.
  double best_tree(const ArcScores& scores, bool one_root, Heads& heads);

 private:
  void span_words(const ArcScores& scores, std::size_t first);
  void follow(std::size_t head, std::size_t end, Heads& heads);

  std::size_t side_ = 0;
  FullSpans full_;
  std::vector<double> open_;                // by head and modifier
  std::vector<std::uint16_t> open_splits_;  // by the smaller and the greater of them
  std::vector<std::pair<std::size_t, std::size_t>> pending_;
};

}  // namespace marginloom
