// A tree that need not be projective, from one that is: heads of single words are changed while that raises the score
// of arcs and siblings (McDonald and Pereira 2006), the change that gains most first and no more changes than there
// are words. The result is a tree, never scores less than its start, and need not be the best one.
//
// What each possible arc is worth is kept: a change concerns the siblings of two heads, the old and the new, so it
// takes O(n) new scores of siblings and O(n^2) comparisons, and all changes together O(n^3) time.
#pragma once

#include <cstdint>
#include <vector>

#include "core/interruption.hpp"
#include "tasks/parse/trees.hpp"

namespace marginloom {

class Rearrangement {
 public:
  // sibling(head, sibling, modifier) as for SiblingEisner; the root keeps its only arc if there is to be one. Returns
  // what was gained.
  template <class Sibling>
  double improve(const ArcScores& scores, bool one_root, Sibling sibling, Heads& heads);

 private:
  struct Change {
    double gain = 0;
    std::size_t word = 0, head = 0;  // word 0: none that gains enough
  };

  // What an arc brings that attaches a modifier to the head, from `nearer` the next sibling and from `farther` another
  // one on, 0 for none.
  template <class Sibling>
  static double worth(const ArcScores& scores, Sibling sibling, std::size_t head, std::size_t nearer,
                      std::size_t modifier, std::size_t farther) {
    double sum = scores.at(head, modifier) + sibling(head, nearer, modifier);
    if (farther != 0) sum += sibling(head, modifier, farther) - sibling(head, nearer, farther);
    return sum;
  }
  template <class Sibling>
  void weigh_arcs(const ArcScores& scores, Sibling sibling, const Heads& heads, std::size_t head);
  [[nodiscard]] Change best_change(const Heads& heads, bool one_root) const;
  void walk(const Heads& heads);
  [[nodiscard]] bool is_below(std::size_t word, std::size_t top) const {
    return enter_[top] <= enter_[word] && enter_[word] < leave_[top];
  }

  std::vector<double> worths_;         // of arcs, by modifier and head; of those that the tree has, too
  std::vector<std::size_t> siblings_;  // of one head, by modifier: the next one that it has towards the head
  // A walk through the tree comes to the words of a subtree one after the other.
  std::vector<std::uint32_t> enter_, leave_;
  std::vector<Head> first_, next_;  // modifiers of a head, as a list; 0 ends it
  std::vector<Head> path_;
};

// Of all arcs from a head, outwards on either side.
template <class Sibling>
void Rearrangement::weigh_arcs(const ArcScores& scores, Sibling sibling, const Heads& heads, std::size_t head) {
  const std::size_t side = heads.size();
  count_steps(16 * side);
  for (const std::size_t step : {std::size_t{1}, ~std::size_t{0}}) {
    const std::size_t end = step == 1 ? side : 0;
    if (head == 0 && end == 0) continue;
    std::size_t sibling_so_far = 0;
    for (std::size_t m = head + step; m != end; m += step) {
      siblings_[m] = sibling_so_far;
      if (heads[m] == head) sibling_so_far = m;
    }
    std::size_t farther = 0;
    for (std::size_t m = end - step; m != head; m -= step) {
      worths_[m * side + head] = worth(scores, sibling, head, siblings_[m], m, farther);
      if (heads[m] == head) farther = m;
    }
  }
}

inline void Rearrangement::walk(const Heads& heads) {
  const std::size_t side = heads.size();
  first_.assign(side, 0);
  next_.assign(side, 0);
  for (std::size_t m = side; m-- > 1;) {
    next_[m] = first_[heads[m]];
    first_[heads[m]] = static_cast<Head>(m);
  }
  enter_.resize(side);
  leave_.resize(side);
  std::uint32_t met = 0;
  enter_[0] = met++;
  path_.assign(1, 0);
  while (!path_.empty()) {
    const Head word = path_.back();
    if (const Head child = first_[word]; child != 0) {
      first_[word] = next_[child];
      enter_[child] = met++;
      path_.push_back(child);
    } else {
      leave_[word] = met;
      path_.pop_back();
    }
  }
}

inline Rearrangement::Change Rearrangement::best_change(const Heads& heads, bool one_root) const {
  const std::size_t side = heads.size();
  Change best{.gain = 1e-9};  // less could be made up by rounding
  for (std::size_t m = 1; m < side; ++m) {
    if (one_root && heads[m] == 0) continue;
    count_steps(side);
    const double* const worths = worths_.data() + m * side;
    const double now = worths[heads[m]];
    for (std::size_t h = one_root ? 1 : 0; h < side; ++h) {
      const double gain = worths[h] - now;
      if (gain > best.gain && h != heads[m] && !is_below(h, m)) best = {gain, m, h};
    }
  }
  return best;
}

template <class Sibling>
double Rearrangement::improve(const ArcScores& scores, bool one_root, Sibling sibling, Heads& heads) {
  const std::size_t side = heads.size();
  worths_.assign(side * side, 0.0);
  siblings_.resize(side);
  for (std::size_t h = 0; h < side; ++h) weigh_arcs(scores, sibling, heads, h);
  double total = 0;
  for (std::size_t changes = 0; changes + 1 < side; ++changes) {
    walk(heads);
    const Change best = best_change(heads, one_root);
    if (best.word == 0) break;
    const std::size_t old = heads[best.word];
    heads[best.word] = static_cast<Head>(best.head);
    weigh_arcs(scores, sibling, heads, old);
    weigh_arcs(scores, sibling, heads, best.head);
    total += best.gain;
  }
  return total;
}

}  // namespace marginloom
