// The best projective tree where arcs score together with the nearest sibling on the way to their head, in O(n^3) time
// and O(n^2) memory (McDonald and Pereira 2006, after Eisner 1996).
//
//   beside(i, j) = max over i <= r < j of full(i, r) + full(j, r + 1): two words that will have the same head
//   open(h, m)   = score of the arc + the better of
//                    full(m, beside h) + sibling(h, none, m), the first modifier on that side,
//                    max over s between h and m of open(h, s) + beside(s, m) + sibling(h, s, m)
//   full(h, e)   = max over m from beside h to e of open(h, m) + full(m, e)
//
// Scores of siblings are asked for once each, while the chart is filled, and not kept: a row of them at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/interruption.hpp"
#include "tasks/parse/eisner.hpp"
#include "tasks/parse/trees.hpp"

namespace marginloom {

class SiblingEisner {
 public:
  // siblings(head, modifier) returns the scores of an arc with each word between as the sibling, by word, and with none
  // at place 0. Otherwise as Eisner::best_tree.
  template <class Siblings>
  double best_tree(const ArcScores& scores, bool one_root, Siblings siblings, Heads& heads);

 private:
  template <class Siblings>
  void span_words(const ArcScores& scores, std::size_t first, Siblings siblings);
  template <class Siblings>
  void open_arc(const ArcScores& scores, std::size_t head, std::size_t modifier, Siblings siblings);
  void follow(std::size_t head, std::size_t end, Heads& heads);
  void follow_beside(std::size_t i, std::size_t j);
  [[nodiscard]] std::size_t between(std::size_t i, std::size_t j) const {
    return std::min(i, j) * side_ + std::max(i, j);
  }

  std::size_t side_ = 0;
  FullSpans full_;
  std::vector<double> open_;               // by head and modifier
  std::vector<std::uint16_t> siblings_;    // of the modifier in the best of them, 0 for none
  std::vector<double> beside_;             // by the smaller and the greater
  std::vector<std::uint16_t> besides_at_;  // their splits
  std::vector<std::pair<std::size_t, std::size_t>> pending_;
};

template <class Siblings>
double SiblingEisner::best_tree(const ArcScores& scores, bool one_root, Siblings siblings, Heads& heads) {
  const std::size_t length = scores.length();
  heads.assign(length + 1, 0);
  if (length == 0) return 0;
  span_words(scores, one_root ? 1 : 0, siblings);
  if (!one_root) {
    follow(0, length, heads);
    return full_.score(0, length);
  }
  Split best;
  for (std::size_t r = 1; r <= length; ++r) {
    const double sum = full_.score(r, 1) + full_.score(r, length) + scores.at(0, r) + siblings(0, r)[0];
    if (sum > best.score || best.place == 0) best = {sum, r};
  }
  follow(best.place, 1, heads);
  follow(best.place, length, heads);
  return best.score;
}

template <class Siblings>
void SiblingEisner::span_words(const ArcScores& scores, std::size_t first, Siblings siblings) {
  side_ = scores.length() + 1;
  full_.resize(side_);
  open_.resize(side_ * side_);
  siblings_.resize(side_ * side_);
  beside_.resize(side_ * side_);
  besides_at_.resize(side_ * side_);
  for (std::size_t i = first; i < side_; ++i) full_.set(i, i, 0, i);
  for (std::size_t width = 1; first + width < side_; ++width) {
    for (std::size_t i = first; i + width < side_; ++i) {
      const std::size_t j = i + width;
      count_steps(8 * width);
      const Split inner = best_split(full_.of_head(i), full_.of_head(j) + 1, i, j);
      beside_[between(i, j)] = inner.score;
      besides_at_[between(i, j)] = static_cast<std::uint16_t>(inner.place);
      open_arc(scores, i, j, siblings);
      const Split right = best_split(open_.data() + i * side_, full_.of_end(j), i + 1, j + 1);
      full_.set(i, j, right.score, right.place);
      if (i == 0) continue;  // the root has no head
      open_arc(scores, j, i, siblings);
      const Split left = best_split(open_.data() + j * side_, full_.of_end(i), i, j);
      full_.set(j, i, left.score, left.place);
    }
  }
}

template <class Siblings>
void SiblingEisner::open_arc(const ArcScores& scores, std::size_t head, std::size_t modifier, Siblings siblings) {
  const double arc = scores.at(head, modifier);
  const std::size_t next = head < modifier ? head + 1 : head - 1;
  double best = -std::numeric_limits<double>::infinity();
  std::size_t chosen = 0;
  if (arc > best) {  // what is forbidden needs no siblings
    const double* const with = siblings(head, modifier);
    best = full_.score(modifier, next) + with[0];
    for (std::size_t s = std::min(head, modifier) + 1; s < std::max(head, modifier); ++s) {
      const double sum = open_[head * side_ + s] + beside_[between(s, modifier)] + with[s];
      if (sum > best) {
        best = sum;
        chosen = s;
      }
    }
  }
  open_[head * side_ + modifier] = arc + best;
  siblings_[head * side_ + modifier] = static_cast<std::uint16_t>(chosen);
}

inline void SiblingEisner::follow_beside(std::size_t i, std::size_t j) {
  if (i > j) std::swap(i, j);
  const std::size_t r = besides_at_[between(i, j)];
  pending_.push_back({i, r});
  pending_.push_back({j, r + 1});
}

inline void SiblingEisner::follow(std::size_t head, std::size_t end, Heads& heads) {
  pending_.assign(1, {head, end});
  while (!pending_.empty()) {
    const auto [h, e] = pending_.back();
    pending_.pop_back();
    if (h == e) continue;
    std::size_t m = full_.split(h, e);
    pending_.push_back({m, e});
    for (;;) {
      heads[m] = static_cast<Head>(h);
      const std::size_t s = siblings_[h * side_ + m];
      if (s == 0) break;
      follow_beside(s, m);
      m = s;
    }
    pending_.push_back({m, h < m ? h + 1 : h - 1});
  }
}

}  // namespace marginloom
