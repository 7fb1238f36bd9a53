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
#include "core/leading.hpp"
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
  // A row of scores of the prefixes that extend one of the last token's states.
  struct Row {
    std::uint32_t state;   // its number
    std::uint32_t before;  // its label before
    std::uint32_t alike;   // the first row of a state with its label
  };

  void start(const HistoryChain& chain, std::size_t beam);
  void step(const HistoryChain& chain);
  void make_rows();
  void add_row(std::uint32_t state, std::uint32_t alike);
  void add_histories(const HistoryChain& chain, std::size_t row);
  void keep_best(std::size_t stride);
  [[nodiscard]] std::span<const State> last() const { return std::span(states_).subspan(first_[first_.size() - 2]); }

  static constexpr std::uint32_t nowhere = 0xFFFFFFFF;

  std::size_t beam_ = 0;
  std::vector<State> states_;       // of all tokens, best first
  std::vector<std::size_t> first_;  // of every token, and one more
  AlignedVector<double> shared_;    // scores of a token's labels, whatever is before
  // First come rows of states with different labels, best first.
  std::vector<Row> rows_;
  std::size_t different_ = 0;          // of them
  std::vector<double> before_;         // scores of their states
  std::vector<std::uint32_t> labels_;  // of their states
  AlignedVector<double> scores_;
  std::vector<std::uint32_t> row_with_;  // first one by label; nowhere but while rows are made
  std::vector<std::uint32_t> others_;    // states with the label of a better one
  Leading leading_;
  std::vector<std::uint32_t> kept_at_;  // by first row and label: the last time that a state came from there
  std::uint32_t time_ = 0;
};

}  // namespace marginloom
