// All dependency trees of a few words, from the definition.
#pragma once

#include <algorithm>
#include <vector>

#include "tasks/parse/trees.hpp"

namespace all_trees {

using marginloom::Head;
using marginloom::Heads;

// Every word reaches the root.
inline bool reaches_root(const Heads& heads) {
  for (std::size_t word = 1; word < heads.size(); ++word) {
    std::size_t above = word;
    for (std::size_t step = 0; step < heads.size() && above != 0; ++step) above = heads[above];
    if (above != 0) return false;
  }
  return true;
}

// Every word between the ends of an arc is below its head.
inline bool has_no_gap(const Heads& heads) {
  for (std::size_t m = 1; m < heads.size(); ++m) {
    const std::size_t head = heads[m];
    for (std::size_t word = std::min(head, m) + 1; word < std::max(head, m); ++word) {
      std::size_t above = word;
      while (above != 0 && above != head) above = heads[above];
      if (above != head) return false;
    }
  }
  return true;
}

inline std::vector<Heads> of(std::size_t length, bool projective, bool one_root) {
  std::vector<Heads> found;
  Heads heads(length + 1, 0);
  for (;;) {
    const auto roots = std::count(heads.begin() + 1, heads.end(), Head{0});
    if (reaches_root(heads) && (!one_root || roots == 1 || length == 0) && (!projective || has_no_gap(heads))) {
      found.push_back(heads);
    }
    std::size_t m = 1;
    while (m <= length && heads[m] == length) heads[m++] = 0;
    if (m > length) return found;
    ++heads[m];
  }
}

}  // namespace all_trees
