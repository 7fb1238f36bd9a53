// The k best trees of any exact search for the best one, best first (Lawler 1972): trees other than the best differ
// from it in some word's head. They are divided by the first such word, words before it keeping their heads, and the
// best of each part is found with arcs forbidden. Parts that were searched and not taken wait for the next turn.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "tasks/parse/trees.hpp"

namespace marginloom {

class KBestTrees {
 public:
  // search(scores, heads) writes the best tree that has no arc of minus infinity and returns its score, minus infinity
  // if there is none. take(heads, score) is called for at most k trees until it returns false. Returns the best score.
  template <class Search, class Take>
  double find(const ArcScores& scores, std::size_t k, Search search, Take take);

 private:
  // Trees in which words up to `fixed` have the heads of `tree`, and the next has none of `excluded`.
  struct Part {
    Heads tree;  // the best of them
    double score;
    std::size_t fixed;
    std::vector<Head> excluded;
  };

  static void restrict_to(const Heads& tree, std::size_t fixed, const std::vector<Head>& excluded, ArcScores& scores) {
    constexpr double never = -std::numeric_limits<double>::infinity();
    for (std::size_t m = 1; m <= fixed; ++m) {
      for (std::size_t h = 0; h <= scores.length(); ++h) {
        if (h != tree[m]) scores.at(h, m) = never;
      }
    }
    for (const Head h : excluded) scores.at(h, fixed + 1) = never;
  }

  ArcScores restricted_;
  Heads heads_;
};

template <class Search, class Take>
double KBestTrees::find(const ArcScores& scores, std::size_t k, Search search, Take take) {
  const auto worse = [](const Part& a, const Part& b) { return a.score < b.score; };
  std::vector<Part> waiting;
  const double best = search(scores, heads_);
  if (best > -std::numeric_limits<double>::infinity()) waiting.push_back({heads_, best, 0, {}});
  for (std::size_t taken = 0; taken < k && !waiting.empty();) {
    std::ranges::pop_heap(waiting, worse);
    const Part part = std::move(waiting.back());
    waiting.pop_back();
    if (!take(part.tree, part.score) || ++taken == k) break;
    for (std::size_t fixed = part.fixed; fixed < scores.length(); ++fixed) {
      std::vector<Head> excluded = fixed == part.fixed ? part.excluded : std::vector<Head>();
      excluded.push_back(part.tree[fixed + 1]);
      restricted_ = scores;
      restrict_to(part.tree, fixed, excluded, restricted_);
      const double score = search(restricted_, heads_);
      if (score == -std::numeric_limits<double>::infinity()) continue;
      waiting.push_back({heads_, score, fixed, std::move(excluded)});
      std::ranges::push_heap(waiting, worse);
    }
  }
  return best;
}

}  // namespace marginloom
