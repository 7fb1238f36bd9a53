// What one thread's inference in the task of finding trees changes.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "tasks/parse/eisner.hpp"
#include "tasks/parse/k_best_trees.hpp"
#include "tasks/parse/parse.hpp"
#include "tasks/parse/rearrange.hpp"
#include "tasks/parse/sibling_eisner.hpp"
#include "tasks/parse/spanning_tree.hpp"
#include "tasks/parse/tree_marginals.hpp"

namespace marginloom {

struct ParseTask::Buffers final : Scratch {
  Buffers(const ArcFeatures& features, const ParseWeights& layout) : scorer(features, layout) {}

  [[nodiscard]] std::size_t place(std::size_t head, std::size_t modifier) const {
    return head * (scores.length() + 1) + modifier;
  }

  ArcScorer scorer;
  std::size_t loaded = std::numeric_limits<std::size_t>::max();  // sentence whose parts the scorer has
  ArcScores scores;
  std::vector<std::uint16_t> best_labels;  // of every arc
  Heads gold;
  std::vector<std::uint16_t> gold_labels;  // from 1, as heads
  double gold_label_score = 0;
  Heads heads;                        // the tree that was found
  std::vector<std::uint16_t> labels;  // its labels
  Eisner eisner;
  SiblingEisner sibling_eisner;
  SpanningTree spanning_tree;
  Rearrangement rearrangement;
  KBestTrees k_best;
  TreeMarginals marginals;
  std::vector<std::uint8_t> output;
  std::vector<Entry> difference;
  std::vector<Entry> spare;
};

}  // namespace marginloom
