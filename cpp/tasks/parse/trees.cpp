#include "tasks/parse/trees.hpp"

#include <algorithm>

namespace marginloom {

bool is_tree(std::span<const Head> heads, bool one_root) {
  const std::size_t length = heads.size() - 1;
  std::vector<std::uint32_t> seen(heads.size());  // by which word's way to the root
  std::size_t roots = 0;
  seen[0] = 1;
  for (std::size_t m = 1; m <= length; ++m) {
    if (heads[m] > length) return false;
    roots += heads[m] == 0;
    const auto turn = static_cast<std::uint32_t>(m + 1);
    std::size_t word = m;
    for (; seen[word] == 0; word = heads[word]) seen[word] = turn;
    if (seen[word] == turn && word != 0) return false;  // met on this very way
  }
  return length == 0 || !one_root || roots == 1;
}

bool is_projective(std::span<const Head> heads) {
  // A word's arc covers words from one end to the other; any other arc must have both ends within or both without.
  for (std::size_t m = 1; m < heads.size(); ++m) {
    const std::size_t left = std::min<std::size_t>(m, heads[m]);
    const std::size_t right = std::max<std::size_t>(m, heads[m]);
    for (std::size_t word = left + 1; word < right; ++word) {
      if (heads[word] < left || heads[word] > right) return false;
    }
  }
  return true;
}

double sum_of_arcs(const ArcScores& scores, std::span<const Head> heads) {
  double sum = 0;
  for (std::size_t m = 1; m < heads.size(); ++m) sum += scores.at(heads[m], m);
  return sum;
}

}  // namespace marginloom
