// Probabilities of arcs and their labels from the scores of one sentence, at any temperature.
//
// Labels do not interact, so an arc weighs the sum over its labels, trees are summed over arcs
// (projective_marginals.hpp, tree_sums.hpp), and p(arc, label) = p(arc) p(label | arc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tasks/parse/projective_marginals.hpp"
#include "tasks/parse/tree_sums.hpp"
#include "tasks/parse/trees.hpp"

namespace marginloom {

// Which trees there are.
struct TreeKind {
  bool projective = true;
  bool one_root = true;
};

class TreeMarginals {
 public:
  // Begins a sentence without labels and siblings.
  void start(const ArcScores& arcs);

  // The scores of the labels that an arc may have; they count from now on, for all arcs or none.
  void add_labels(std::size_t head, std::size_t modifier, std::span<const std::uint16_t> allowed, const double* scores,
                  std::size_t label_count);
  // The scores of an arc with its siblings, as SiblingSpans asks for them; for all arcs or none.
  void add_siblings(std::size_t head, std::size_t modifier, const double* scores);

  // False if there is no tree.
  [[nodiscard]] bool compute(double scale, const TreeKind& kind);

  [[nodiscard]] double arc(std::size_t head, std::size_t modifier) const { return probabilities_.at(head, modifier); }
  // log p(label | arc), 0 without labels.
  [[nodiscard]] double log_label(std::size_t head, std::size_t modifier, std::size_t label) const;
  // The log probability of a tree, with its labels if they are given; heads[0] is no word's.
  [[nodiscard]] double log_tree(std::span<const Head> heads) const;

 private:
  [[nodiscard]] std::size_t place(std::size_t head, std::size_t modifier) const { return head * side_ + modifier; }
  [[nodiscard]] const double* scaled_siblings(std::size_t head, std::size_t modifier);
  void weigh_arcs();

  std::size_t side_ = 0;
  std::size_t label_count_ = 0;
  double scale_ = 1;
  const ArcScores* arcs_ = nullptr;
  std::vector<double> labels_;              // of every arc, minus infinity where it may not have one; or empty
  std::vector<double> best_labels_;         // of every arc: the greatest score
  std::vector<double> label_sums_;          // and the logarithm of the sum over its labels, relative to that
  std::vector<double> siblings_;            // of all arcs, one after the other: of none, then of the words between
  std::vector<std::size_t> first_sibling_;  // by arc
  std::vector<double> row_;
  ArcScores weights_;  // logarithms, of every word relative to its best head
  ArcScores probabilities_;
  double sum_ = 0;
  ProjectiveMarginals projective_;
  TreeSums any_;
};

}  // namespace marginloom
