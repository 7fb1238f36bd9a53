// The best path through a chain in which two labels before a token count, exactly: Viterbi's algorithm over pairs.
//
// A prefix that ends in the labels p, c scores
//
//   R[t][c][p] = token[t][c] + transition[p][c] + max_q (R[t-1][p][q] + triple[q][p][c])
//
// with the transitions and triples as what is observed at the token changes them. Few triples have a weight: a row of
// them is that of zeros but for some labels. With `range` the difference of what triples add at most and at least, a
// prefix that scores `range` less than another with the same last label can never catch up: it is left out. The same
// holds for a label p all of whose prefixes score less than others do, whatever comes next. Prefixes that tie are never
// left out.
#pragma once

#include <cstdint>
#include <vector>

#include "tasks/sequence/history_chain.hpp"

namespace marginloom {

class PairViterbi {
 public:
  // Fills in the labels and returns the score, minus infinity if there is no path. Of equal scores the lowest label
  // wins, from the last token backwards.
  double best_path(const HistoryChain& chain, std::vector<std::uint16_t>& labels);

 private:
  // What an observation adds where its history is not the label before alone.
  struct Extra {
    std::uint32_t before;  // the number of labels: any
    std::uint32_t before_that;
    std::uint32_t label;
    double weight;
  };
  // Bounds of what triples and extras add to any path at a token.
  struct Range {
    double lowest = 0;
    double highest = 0;
    [[nodiscard]] double width() const { return highest - lowest; }
  };
  struct Changed {
    std::size_t place;
    double before;
  };

  void prepare(const HistoryChain& chain);
  [[nodiscard]] Range range_of(const HistoryChain& chain, std::size_t t) const;
  void apply_observations(const HistoryChain& chain, std::size_t t);
  void restore_transitions();
  void first_pairs(const HistoryChain& chain);
  void step(const HistoryChain& chain, std::size_t t);
  double leaders(const HistoryChain& chain, std::size_t t);
  void extend(const HistoryChain& chain, std::size_t t, std::size_t before, double threshold);
  void add_rows_of(const HistoryChain& chain, std::size_t before, std::size_t before_that);
  [[nodiscard]] std::uint16_t best_before(const HistoryChain& chain, std::size_t t, std::size_t before,
                                          std::size_t label);
  [[nodiscard]] double* pairs(const HistoryChain& chain, std::size_t t) {
    return pairs_.data() + (t - 1) * chain.labels * chain.stride;
  }

  std::vector<double> pairs_;  // of every token but the first: a row per label, a column per label before it
  std::vector<double> transitions_;
  std::vector<double> triples_;  // weights of the combinations of every token
  std::size_t first_triple_ = 0;
  Range of_triples_;
  std::vector<Range> ranges_;  // of tokens
  std::vector<Extra> extras_;  // of a token, by the label before and the one before that
  std::vector<Changed> changed_;
  std::vector<double> lowest_;  // bounds of the transitions from a label
  std::vector<double> highest_;
  std::vector<double> top_;   // per label, its best prefix
  std::vector<double> best_;  // per label after the one that is looked at
  std::vector<double> row_;
};

}  // namespace marginloom
