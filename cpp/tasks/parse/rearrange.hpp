// A tree that need not be projective, from one that is: heads of single words are changed while that raises the score
// of arcs and siblings (McDonald and Pereira 2006). The result is a tree, never scores less than its start, and need
// not be the best one.
#pragma once

#include <algorithm>
#include <vector>

#include "tasks/parse/trees.hpp"

namespace marginloom {

class Rearrangement {
 public:
  // sibling(head, sibling, modifier) as for SiblingEisner; the root keeps its only arc if there is to be one. Returns
  // what was gained.
  template <class Sibling>
  double improve(const ArcScores& scores, bool one_root, Sibling sibling, Heads& heads);

 private:
  struct Neighbours {
    std::size_t nearer = 0, farther = 0;  // siblings on the same side of the head, 0 for none
  };
  [[nodiscard]] static Neighbours neighbours(const Heads& heads, std::size_t head, std::size_t modifier);
  void mark_descendants(const Heads& heads, std::size_t word);

  // What the arc brings that attaches the modifier to a head which has it not yet, or has it.
  template <class Sibling>
  [[nodiscard]] double worth(const ArcScores& scores, Sibling sibling, const Heads& heads, std::size_t head,
                             std::size_t modifier) const {
    const Neighbours beside = neighbours(heads, head, modifier);
    double sum = scores.at(head, modifier) + sibling(head, beside.nearer, modifier);
    if (beside.farther != 0) {
      sum += sibling(head, modifier, beside.farther) - sibling(head, beside.nearer, beside.farther);
    }
    return sum;
  }

  std::vector<std::uint8_t> below_;  // words of the subtree, the word itself included
};

inline Rearrangement::Neighbours Rearrangement::neighbours(const Heads& heads, std::size_t head, std::size_t modifier) {
  Neighbours found;
  const bool right = head < modifier;
  for (std::size_t s = modifier; (s = right ? s - 1 : s + 1) != head;) {
    if (heads[s] == head) {
      found.nearer = s;
      break;
    }
  }
  for (std::size_t s = modifier; (s = right ? s + 1 : s - 1) >= 1 && s < heads.size();) {
    if (heads[s] == head) {
      found.farther = s;
      break;
    }
  }
  return found;
}

inline void Rearrangement::mark_descendants(const Heads& heads, std::size_t word) {
  below_.assign(heads.size(), 0);
  for (std::size_t start = 1; start < heads.size(); ++start) {
    std::size_t above = start;
    while (above != 0 && above != word) above = heads[above];
    below_[start] = above == word;
  }
}

template <class Sibling>
double Rearrangement::improve(const ArcScores& scores, bool one_root, Sibling sibling, Heads& heads) {
  constexpr double least = 1e-9;  // what rounding could make up again and again
  double total = 0;
  for (;;) {
    double best = least;
    std::size_t word = 0, new_head = 0;
    for (std::size_t m = 1; m < heads.size(); ++m) {
      if (one_root && heads[m] == 0) continue;
      mark_descendants(heads, m);
      const double now = worth(scores, sibling, heads, heads[m], m);
      for (std::size_t h = one_root ? 1 : 0; h < heads.size(); ++h) {
        if (below_[h] || h == heads[m]) continue;
        const double gain = worth(scores, sibling, heads, h, m) - now;
        if (gain > best) {
          best = gain;
          word = m;
          new_head = h;
        }
      }
    }
    if (word == 0) return total;
    heads[word] = static_cast<Head>(new_head);
    total += best;
  }
}

}  // namespace marginloom
