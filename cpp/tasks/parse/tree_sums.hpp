// Probabilities of arcs in trees that need not be projective, by the matrix-tree theorem, in O(n^3) time.
//
// The sum over all trees of the product of their arcs' weights w(h, m) is a determinant (Tutte 1948; Koo, Globerson,
// Carreras and Collins 2007; McDonald and Satta 2007). Here it is computed by eliminating one word after the other,
//
//   D_k = sum over h of w(h, k),     w(h, m) <- w(h, m) + w(h, k) w(k, m) / D_k,     sum over trees = product of D_k
//
// with the sum over the words that are left and the root. That is Gaussian elimination without a subtraction
// (Grassmann, Taksar and Heyman 1985), so that it can be done with logarithms and loses nothing, whatever the sizes of
// the weights. For trees with one root, which are the part of the sum that is linear in the weights of the root's arcs,
// D_k leaves the root out until the last word, whose only arc is the root's. The probabilities are the derivatives of
// the logarithm of the sum, taken backwards through the elimination.
#pragma once

#include <cstddef>
#include <vector>

#include "tasks/parse/trees.hpp"

namespace marginloom {

class TreeSums {
 public:
  // As ProjectiveMarginals::first_order.
  double marginals(const ArcScores& scores, bool one_root, ArcScores& result);

 private:
  [[nodiscard]] double sum_heads(std::size_t word, bool with_root) const;
  template <class Function>
  void visit_pairs(Function function);
  [[nodiscard]] bool eliminate_all(bool one_root);
  void take_back(std::size_t step, bool one_root);
  [[nodiscard]] double& at(std::size_t head, std::size_t modifier) { return weights_[head * side_ + modifier]; }
  [[nodiscard]] double at(std::size_t head, std::size_t modifier) const { return weights_[head * side_ + modifier]; }

  std::size_t side_ = 0;
  std::vector<double> weights_;  // logarithms, by head and modifier; those of a word stay as they were eliminated
  std::vector<double> before_;   // what the words left had before each elimination, in the order of these
  std::vector<double> sums_;     // D_k, by step
  std::vector<std::size_t> order_;
  std::vector<bool> is_left_;   // by word: not eliminated yet
  std::vector<double> slopes_;  // derivatives, by head and modifier
};

}  // namespace marginloom
