// Beam search from left to right through a chain in which two labels before a token count.
//
// After every token the beam holds the best prefixes, of which those with the same two last labels have merged: the
// best of them stands for all, since whatever follows adds the same to each. So a beam of labels squared loses nothing.
// Of equal scores the lower last label comes first, then the lower label before it; among prefixes that merge, the one
// with the lowest label before that wins. This is the order of Viterbi's algorithm.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/aligned_vector.hpp"
#include "core/prefix_update.hpp"
#include "tasks/sequence/history_chain.hpp"

namespace marginloom {

class LabelBeam {
 public:
  // Searches to the end and returns the best score, minus infinity if no prefix is left.
  double search(const HistoryChain& chain, std::size_t beam);

  // The same, and tells `choice` of every step how gold fares; ends where no later step matters. Gold is in the beam as
  // long as its prefix itself is, not another one that it has merged with. Returns the best score it has come to.
  double follow(const HistoryChain& chain, std::size_t beam, std::span<const LabelIndex> gold, PrefixChoice& choice);

  // The labels of the best prefix of so many tokens.
  void prefix(std::size_t length, std::vector<LabelIndex>& labels) const;
  // Tokens that the search has come to.
  [[nodiscard]] std::size_t length() const { return first_.size() - 1; }

 private:
  struct State {
    double score;
    std::uint16_t label;
    std::uint16_t before;
    std::uint32_t previous;  // number of the state that it extends, among those of all tokens
  };
  // A state that may come into the beam; its predecessor is found when it does. `place` is its label, the label before
  // and its group, so that it orders states with the same score.
  struct Next {
    double score;
    std::uint64_t place;
    [[nodiscard]] std::uint16_t label() const { return static_cast<std::uint16_t>(place >> 48); }
    [[nodiscard]] std::uint16_t before() const { return static_cast<std::uint16_t>(place >> 32); }
    [[nodiscard]] std::uint32_t group() const { return static_cast<std::uint32_t>(place); }
  };
  // States of the last token that have the same last label, by the label before: places in grouped_.
  struct Group {
    std::uint32_t first;
    std::uint32_t last;
    std::uint32_t best;  // number of its best state
  };

  void start(const HistoryChain& chain, std::size_t beam);
  void step(const HistoryChain& chain);
  void group_states();
  void group_many();
  void add_group(std::size_t first, std::size_t last);
  void extend_group(const HistoryChain& chain, std::uint32_t group);
  void score_steps(const HistoryChain& chain, std::size_t before);
  void add_histories(const HistoryChain& chain, std::size_t before_that, std::size_t before, double* row) const;
  void offer_all(const HistoryChain& chain, const double* steps, double score, std::uint32_t group, std::size_t before);
  void offer(double score, std::uint64_t place);
  void cut_next();
  [[nodiscard]] static bool comes_before(const Next& a, const Next& b) {
    return a.score > b.score || (a.score == b.score && a.place < b.place);
  }
  void keep_best();
  void end_step(const HistoryChain& chain);
  [[nodiscard]] std::span<const State> last() const { return std::span(states_).subspan(first_[first_.size() - 2]); }

  std::size_t beam_ = 0;
  std::vector<State> states_;           // of all tokens, best first
  std::vector<std::size_t> first_;      // of every token, and one more
  std::vector<std::uint32_t> grouped_;  // numbers of the last token's states
  std::vector<Group> groups_;
  AlignedVector<double> steps_;  // scores of the labels that follow a label
  AlignedVector<double> rows_;   // the same for every state of grouped_, where more than one has that label
  std::vector<double> scores_;   // of the states of grouped_
  AlignedVector<double> best_;
  AlignedVector<double> spare_;
  std::vector<Next> next_;  // sorted in a beam of few states
  double threshold_ = 0;    // no state below it comes into the beam
  std::vector<std::uint32_t> places_;
};

}  // namespace marginloom
