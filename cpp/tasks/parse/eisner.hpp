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

#include "core/interruption.hpp"
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

// What the spans of a chart keep of the ways to build them: the best one, or (tree_marginals.hpp) the sum of all.
struct BestWay {
  static constexpr std::size_t cost = 3;  // steps, as count_steps() counts them
  static Split of_splits(const double* first, const double* second, std::size_t begin, std::size_t end) {
    return best_split(first, second, begin, end);
  }
  // Of the value at begin <= place < end, and of a first one; of equals the first one, then the lowest place.
  template <class Value>
  static Split of_places(std::size_t begin, std::size_t end, Split first, Value value) {
    for (std::size_t place = begin; place < end; ++place) {
      const double score = value(place);
      if (score > first.score) first = {score, place};
    }
    return first;
  }
};

// The chart, filled from single words to all of them.
template <class Ways>
class ProjectiveSpans {
 public:
  // Words from `first` on, which is the root or the first word.
  void fill(const ArcScores& scores, std::size_t first);

  [[nodiscard]] const FullSpans& full() const { return full_; }
  [[nodiscard]] const double* open_of(std::size_t head) const { return open_.data() + head * side_; }
  [[nodiscard]] std::size_t open_split(std::size_t i, std::size_t j) const { return open_splits_[i * side_ + j]; }

 private:
  std::size_t side_ = 0;
  FullSpans full_;
  std::vector<double> open_;                // by head and modifier
  std::vector<std::uint16_t> open_splits_;  // by the smaller and the greater of them
};

template <class Ways>
void ProjectiveSpans<Ways>::fill(const ArcScores& scores, std::size_t first) {
  side_ = scores.length() + 1;
  full_.resize(side_);
  open_.resize(side_ * side_);
  open_splits_.resize(side_ * side_);
  for (std::size_t i = first; i < side_; ++i) full_.set(i, i, 0, i);
  for (std::size_t width = 1; first + width < side_; ++width) {
    count_steps(Ways::cost * width * (side_ - width));
    for (std::size_t i = first; i + width < side_; ++i) {
      const std::size_t j = i + width;
      const Split inner = Ways::of_splits(full_.of_head(i), full_.of_head(j) + 1, i, j);
      open_splits_[i * side_ + j] = static_cast<std::uint16_t>(inner.place);
      open_[i * side_ + j] = inner.score + scores.at(i, j);
      const Split right = Ways::of_splits(open_.data() + i * side_, full_.of_end(j), i + 1, j + 1);
      full_.set(i, j, right.score, right.place);
      if (i == 0) continue;  // the root has no head
      open_[j * side_ + i] = inner.score + scores.at(j, i);
      const Split left = Ways::of_splits(open_.data() + j * side_, full_.of_end(i), i, j);
      full_.set(j, i, left.score, left.place);
    }
  }
}

class Eisner {
 public:
  // Writes the best tree; returns its score, minus infinity if every tree has an arc that scores that.
  double best_tree(const ArcScores& scores, bool one_root, Heads& heads);

 private:
  void follow(std::size_t head, std::size_t end, Heads& heads);

  ProjectiveSpans<BestWay> spans_;
  std::vector<std::pair<std::size_t, std::size_t>> pending_;
};

}  // namespace marginloom
