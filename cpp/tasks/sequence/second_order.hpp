// The best path through a chain in which two labels before a token count, exactly: Viterbi's algorithm over pairs.
//
// A prefix that ends in the labels p, c scores
//
//   R[t][c][p] = token[t][c] + transition[p][c] + max_q (R[t-1][p][q] + triple[q][p][c])
//
// with the transitions and triples as what is observed at the token changes them. With `range` the difference of what
// triples add at most and at least, a prefix that scores `range` less than another with the same last label can never
// catch up: it is left out. The same holds for a label p all of whose prefixes score less than others do, whatever
// comes next. Prefixes that tie are never left out.
#pragma once

#include <cstdint>
#include <vector>

#include "tasks/sequence/history_chain.hpp"
#include "tasks/sequence/history_scores.hpp"

namespace marginloom {

class PairViterbi {
 public:
  // Fills in the labels and returns the score, minus infinity if there is no path. Of equal scores the lowest label
  // wins, from the last token backwards.
  double best_path(const HistoryChain& chain, std::vector<std::uint16_t>& labels);

 private:
  void first_pairs(const HistoryChain& chain);
  void step(const HistoryChain& chain, std::size_t t);
  double leaders(const HistoryChain& chain, std::size_t t);
  void extend(const HistoryChain& chain, std::size_t t, std::size_t before, double threshold);
  [[nodiscard]] std::uint16_t best_before(const HistoryChain& chain, std::size_t t, std::size_t before,
                                          std::size_t label);
  [[nodiscard]] double* pairs(const HistoryChain& chain, std::size_t t) {
    return pairs_.data() + (t - 1) * chain.labels * chain.stride;
  }

  std::vector<double> pairs_;  // of every token but the first: a row per label, a column per label before it
  HistoryScores before_;
  std::vector<double> top_;   // per label, its best prefix
  std::vector<double> best_;  // per label after the one that is looked at
  std::vector<double> row_;
};

}  // namespace marginloom
