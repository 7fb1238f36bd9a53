// The best tree, projective or not, by the algorithm of Chu, Liu and Edmonds in the form that takes O(n^2) time on
// dense graphs (Tarjan 1977, Camerini et al. 1979): from some word, the best arcs are followed backwards; a cycle is
// contracted to one node, of which an arc into a word of the cycle is worth what it gains over the arc that it
// replaces.
//
// The algorithm works for scores from any ordered group. Here a score is a pair, compared by its first part first:
// how often there is what should not be (arcs from the root where there is to be one, then forbidden arcs), then the
// sum. A tree with a single arc from the root always exists, so the best tree by pairs is the best of those: exactly,
// and without a penalty that would have to be large enough and yet not swallow the digits of scores.
#pragma once

#include <cstdint>
#include <vector>

#include "tasks/parse/trees.hpp"

namespace marginloom {

class SpanningTree {
 public:
  // Writes the best tree; returns its score, minus infinity if every tree has an arc that scores that.
  double best_tree(const ArcScores& scores, bool one_root, Heads& heads);

 private:
  struct Worth {
    std::int64_t faults = 0;
    double score = 0;

    friend bool operator<(const Worth& a, const Worth& b) {
      return a.faults != b.faults ? a.faults > b.faults : a.score < b.score;
    }
    friend Worth operator-(const Worth& a, const Worth& b) { return {a.faults - b.faults, a.score - b.score}; }
  };
  struct Arc {
    Head head = 0, modifier = 0;
  };
  // A word or a contracted cycle; its row holds the best arc into it from each word.
  struct Node {
    std::size_t row = 0;
    std::size_t parent = 0;  // 0: none yet
    Worth worth;             // of the arc below
    Arc arc;                 // the best one into it
  };

  void start(const ArcScores& scores, bool one_root);
  void choose_arc(std::size_t node);
  void contract(std::size_t first_on_path);
  void expand(Heads& heads);

  std::size_t side_ = 0;
  std::vector<Worth> worths_;      // rows of nodes
  std::vector<Head> modifiers_;    // the word of the node into which that arc goes
  std::vector<Node> nodes_;        // words first
  std::vector<std::size_t> tops_;  // by word: the node that it is in now
  std::vector<std::size_t> path_;  // of nodes, each the modifier of the next
  std::vector<std::uint8_t> state_;
};

}  // namespace marginloom
