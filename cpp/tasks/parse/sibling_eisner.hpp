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

// The chart; `Ways` as in eisner.hpp.
template <class Ways>
class SiblingSpans {
 public:
  // siblings(head, modifier) returns the scores of an arc with each word between as the sibling, by word, and with none
  // at place 0.
  template <class Siblings>
  void fill(const ArcScores& scores, std::size_t first, Siblings siblings);

  [[nodiscard]] const FullSpans& full() const { return full_; }
  [[nodiscard]] const double* open_of(std::size_t head) const { return open_.data() + head * side_; }
  // Of the modifier in the best way, 0 for none.
  [[nodiscard]] std::size_t sibling(std::size_t head, std::size_t modifier) const {
    return siblings_[head * side_ + modifier];
  }
  [[nodiscard]] double beside(std::size_t i, std::size_t j) const { return beside_[between(i, j)]; }
  [[nodiscard]] std::size_t beside_split(std::size_t i, std::size_t j) const { return besides_at_[between(i, j)]; }

 private:
  template <class Siblings>
  void open_arc(const ArcScores& scores, std::size_t head, std::size_t modifier, Siblings siblings);
  [[nodiscard]] std::size_t between(std::size_t i, std::size_t j) const {
    return std::min(i, j) * side_ + std::max(i, j);
  }

  std::size_t side_ = 0;
  FullSpans full_;
  std::vector<double> open_;  // by head and modifier
  std::vector<std::uint16_t> siblings_;
  std::vector<double> beside_;  // by the smaller and the greater
  std::vector<std::uint16_t> besides_at_;
};

template <class Ways>
template <class Siblings>
void SiblingSpans<Ways>::fill(const ArcScores& scores, std::size_t first, Siblings siblings) {
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
      count_steps((Ways::cost + 5) * width);
      const Split inner = Ways::of_splits(full_.of_head(i), full_.of_head(j) + 1, i, j);
      beside_[between(i, j)] = inner.score;
      besides_at_[between(i, j)] = static_cast<std::uint16_t>(inner.place);
      open_arc(scores, i, j, siblings);
      const Split right = Ways::of_splits(open_.data() + i * side_, full_.of_end(j), i + 1, j + 1);
      full_.set(i, j, right.score, right.place);
      if (i == 0) continue;  // the root has no head
      open_arc(scores, j, i, siblings);
      const Split left = Ways::of_splits(open_.data() + j * side_, full_.of_end(i), i, j);
      full_.set(j, i, left.score, left.place);
    }
  }
}

template <class Ways>
template <class Siblings>
void SiblingSpans<Ways>::open_arc(const ArcScores& scores, std::size_t head, std::size_t modifier, Siblings siblings) {
  const double arc = scores.at(head, modifier);
  const std::size_t next = head < modifier ? head + 1 : head - 1;
  Split ways;
  if (arc > ways.score) {  // what is forbidden needs no siblings
    const double* const with = siblings(head, modifier);
    const double first = full_.score(modifier, next) + with[0];
    ways = Ways::of_places(std::min(head, modifier) + 1, std::max(head, modifier), {first, 0}, [&](std::size_t s) {
      return open_[head * side_ + s] + beside_[between(s, modifier)] + with[s];
    });
  }
  open_[head * side_ + modifier] = arc + ways.score;
  siblings_[head * side_ + modifier] = static_cast<std::uint16_t>(ways.place);
}

class SiblingEisner {
 public:
  // `siblings` as for SiblingSpans, otherwise as Eisner::best_tree.
  template <class Siblings>
  double best_tree(const ArcScores& scores, bool one_root, Siblings siblings, Heads& heads);

 private:
  void follow(std::size_t head, std::size_t end, Heads& heads);
  void follow_beside(std::size_t i, std::size_t j);

  SiblingSpans<BestWay> spans_;
  std::vector<std::pair<std::size_t, std::size_t>> pending_;
};

template <class Siblings>
double SiblingEisner::best_tree(const ArcScores& scores, bool one_root, Siblings siblings, Heads& heads) {
  const std::size_t length = scores.length();
  heads.assign(length + 1, 0);
  if (length == 0) return 0;
  spans_.fill(scores, one_root ? 1 : 0, siblings);
  const FullSpans& full = spans_.full();
  if (!one_root) {
    follow(0, length, heads);
    return full.score(0, length);
  }
  Split best;
  for (std::size_t r = 1; r <= length; ++r) {
    const double sum = full.score(r, 1) + full.score(r, length) + scores.at(0, r) + siblings(0, r)[0];
    if (sum > best.score || best.place == 0) best = {sum, r};
  }
  follow(best.place, 1, heads);
  follow(best.place, length, heads);
  return best.score;
}

inline void SiblingEisner::follow_beside(std::size_t i, std::size_t j) {
  if (i > j) std::swap(i, j);
  const std::size_t r = spans_.beside_split(i, j);
  pending_.push_back({i, r});
  pending_.push_back({j, r + 1});
}

inline void SiblingEisner::follow(std::size_t head, std::size_t end, Heads& heads) {
  pending_.assign(1, {head, end});
  while (!pending_.empty()) {
    const auto [h, e] = pending_.back();
    pending_.pop_back();
    if (h == e) continue;
    std::size_t m = spans_.full().split(h, e);
    pending_.push_back({m, e});
    for (;;) {
      heads[m] = static_cast<Head>(h);
      const std::size_t s = spans_.sibling(h, m);
      if (s == 0) break;
      follow_beside(s, m);
      m = s;
    }
    pending_.push_back({m, h < m ? h + 1 : h - 1});
  }
}

}  // namespace marginloom
