// Viterbi's algorithm: the best path through a chain, exactly.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/aligned_vector.hpp"

namespace marginloom {

// The score of what must not be.
inline constexpr double never = -std::numeric_limits<double>::infinity();

// Transitions into single tokens that score otherwise than into the others, because of what is observed there.
struct LocalTransitions {
  struct Change {
    std::uint16_t from;
    std::uint16_t to;
    double score;  // at first what is added to the transition; after the way forward what it scores as a whole
  };
  std::vector<std::size_t> first;  // of every token, and one more
  std::vector<Change> changes;     // where a transition has several, the last counts after the way forward

  void clear() {
    first.assign(1, 0);
    changes.clear();
  }
  void end_token() { first.push_back(changes.size()); }
  [[nodiscard]] std::span<Change> of(std::size_t token) {
    return {changes.data() + first[token], first[token + 1] - first[token]};
  }
  [[nodiscard]] std::span<const Change> of(std::size_t token) const {
    return {changes.data() + first[token], first[token + 1] - first[token]};
  }
};

// What the way forward leaves: rows of `stride` doubles, minus infinity where there is no path.
struct ChainScores {
  const double* prefixes;     // a row per token: the best path that ends there in each label
  const double* transitions;  // a row per label: to the labels that follow
  std::size_t length;
  std::size_t labels;
  std::size_t stride;
  const LocalTransitions* local = nullptr;  // as they are after the way forward

  // The scores of the transitions into a label at a token, one after the other: `column` is room for them.
  void transitions_into(std::size_t token, std::size_t label, std::vector<double>& column) const {
    column.resize(labels);
    for (std::size_t p = 0; p < labels; ++p) column[p] = transitions[p * stride + label];
    for (const LocalTransitions::Change& change : local->of(token)) {
      if (change.to == label) column[change.from] = change.score;
    }
  }
};

class Viterbi {
 public:
  // The way forward: turns the scores of labels, a row of `stride` per token, into those of the best prefixes. Only
  // `labels` of a row count; `stride` is that number, rounded up to a multiple of row_alignment.
  [[nodiscard]] ChainScores score_prefixes(std::span<double> scores, const double* transitions, std::size_t labels,
                                           std::size_t stride);

  // The same where transitions differ from token to token. They are changed and restored on the way.
  [[nodiscard]] ChainScores score_prefixes(std::span<double> scores, double* transitions, std::size_t labels,
                                           std::size_t stride, LocalTransitions& local);

  // The way back, after score_prefixes(): fills in the labels of the best path and returns its score. Of equal scores
  // the lowest label wins, from the last token backwards.
  double best_path(const ChainScores& chain, std::vector<std::uint16_t>& labels);

 private:
  void step_from_all(const ChainScores& chain, double* scores);
  void step_from_some(const ChainScores& chain, double* scores);
  void step_locally(const ChainScores& chain, double* scores, double* transitions, LocalTransitions& local);
  void bound_transitions(const ChainScores& chain);

  AlignedVector<double> best_;  // a row per token: what the best labels before it add to its scores

  // Bounds of the transitions from a label, and the labels that may come before another on a best path. It pays if that
  // leaves out most of them, which changes slowly: if not, it is not tried in the next `spared_` chains.
  std::vector<double> lowest_;
  std::vector<double> highest_;
  std::vector<std::uint32_t> from_;
  int spared_ = 0;

  // Of local transitions.
  std::vector<double> whole_lowest_;  // the bounds without them
  std::vector<double> whole_highest_;
  std::vector<double> before_;  // what the transitions scored before those of a token were changed
  std::vector<double> column_;
};

}  // namespace marginloom
