// Viterbi's algorithm: the best path through a chain, exactly.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/aligned_vector.hpp"

namespace marginloom {

// What the way forward leaves: rows of `stride` doubles, minus infinity where there is no path.
struct ChainScores {
  const double* prefixes;     // a row per token: the best path that ends there in each label
  const double* transitions;  // a row per label: to the labels that follow
  std::size_t length;
  std::size_t labels;
  std::size_t stride;
};

class Viterbi {
 public:
  // The way forward: turns the scores of labels, a row of `stride` per token, into those of the best prefixes. Only
  // `labels` of a row count; `stride` is that number, rounded up to a multiple of row_alignment.
  [[nodiscard]] ChainScores score_prefixes(std::span<double> scores, const double* transitions, std::size_t labels,
                                           std::size_t stride);

  // The way back, after score_prefixes(): fills in the labels of the best path and returns its score. Of equal scores
  // the lowest label wins, from the last token backwards.
  double best_path(const ChainScores& chain, std::vector<std::uint16_t>& labels) const;

 private:
  void step_from_all(const ChainScores& chain, double* scores);
  void step_from_some(const ChainScores& chain, double* scores);

  AlignedVector<double> best_;  // a row per token: what the best labels before it add to its scores

  // Bounds of the transitions from a label, and the labels that may come before another on a best path. It pays if that
  // leaves out most of them, which changes slowly: if not, it is not tried in the next `spared_` chains.
  std::vector<double> lowest_;
  std::vector<double> highest_;
  std::vector<std::uint32_t> from_;
  int spared_ = 0;
};

}  // namespace marginloom
