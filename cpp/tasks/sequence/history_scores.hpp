// What labels before a token add to the scores of its labels, token by token, as exact searches and sums over pairs of
// labels read it: transitions, which what is observed at the token may change, and what two labels before it add. Of
// the latter few have a weight: a row of them, by the label of the token, is that of zeros but for some labels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tasks/sequence/history_chain.hpp"
#include "tasks/sequence/viterbi.hpp"

namespace marginloom {

class HistoryScores {
 public:
  // What two labels before a token add to any path.
  struct Bounds {
    double lowest = 0;
    double highest = 0;
    [[nodiscard]] double width() const { return highest - lowest; }
  };
  struct Changed {
    std::size_t place;
    double before;
  };

  // What the chain points to must stay until the last question. Weights that change meanwhile are those of here, if
  // every token has them.
  void start(const HistoryChain& chain);

  // From here to leave() questions are about this token; it is not the first one.
  void enter(std::size_t t);
  void leave();

  // To all labels.
  [[nodiscard]] const double* transitions(std::size_t before) const {
    return transitions_.data() + before * chain_.stride;
  }
  // Which of them are not those of other tokens, places counting from those of label 0.
  [[nodiscard]] std::span<const Changed> changed() const { return changed_; }
  // Bounds of the transitions from a label at this token.
  [[nodiscard]] double lowest(std::size_t before) const { return lowest_[before]; }
  [[nodiscard]] double highest(std::size_t before) const { return highest_[before]; }

  // Where these two labels are before the token, whether something may be added, and what: calls function(label,
  // number), with numbers below added().size().
  [[nodiscard]] bool adds(std::size_t before_that, std::size_t before) const {
    return !extras_.empty() || (triples_ > 0 && !is_empty(triples(before_that, before)));
  }
  template <class Function>
  void for_added(std::size_t before_that, std::size_t before, Function function) const {
    if (triples_ > 0) {
      const auto [first, last] = triples(before_that, before);
      for (std::size_t j = first; j < last; ++j) function(chain_.histories->label(j), j - first_triple_);
    }
    if (extras_.empty()) return;
    for_extras(before, before_that, function);
    for_extras(chain_.labels, before_that, function);
  }
  [[nodiscard]] std::span<const double> added() const { return added_; }

  // How many of these there are at every token, first of all, and the weight of one of them by its combination.
  [[nodiscard]] std::size_t triples() const { return triples_; }
  [[nodiscard]] double triple(std::size_t combination) const { return added_[combination - first_triple_]; }

  // Of any token, of what comes after the last one too.
  [[nodiscard]] Bounds bounds(std::size_t t) const { return bounds_[t]; }

 private:
  // What an observation adds where its history is not the label before alone.
  struct Extra {
    std::uint32_t before;  // the number of labels: any
    std::uint32_t before_that;
    std::uint32_t label;
    double weight;
  };

  [[nodiscard]] static bool is_empty(LabelHistories::Range range) { return range.first == range.last; }
  [[nodiscard]] LabelHistories::Range triples(std::size_t before_that, std::size_t before) const {
    const LabelHistories& histories = *chain_.histories;
    return histories.combinations(histories.of_every_token(),
                                  histories.history(LabelHistories::Reach::both, before_that, before));
  }
  [[nodiscard]] std::size_t first_extra(std::size_t before, std::size_t before_that) const;
  template <class Function>
  void for_extras(std::size_t before, std::size_t before_that, Function function) const {
    for (std::size_t k = first_extra(before, before_that); k < extras_.size(); ++k) {
      if (extras_[k].before != before || extras_[k].before_that != before_that) return;
      function(extras_[k].label, triples_ + k);
    }
  }
  [[nodiscard]] Bounds bounds_of(std::size_t t) const;

  HistoryChain chain_{};
  std::vector<double> transitions_;
  std::vector<double> lowest_;  // of the transitions from a label
  std::vector<double> highest_;
  std::vector<Changed> changed_;
  std::vector<double> added_;  // the weights of the combinations of every token, then those of the extras
  std::size_t triples_ = 0;
  std::size_t first_triple_ = 0;
  Bounds of_triples_;
  std::vector<Bounds> bounds_;
  std::vector<Extra> extras_;  // of the token, by the label before and the one before that
};

}  // namespace marginloom
