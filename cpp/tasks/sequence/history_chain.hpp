// A sentence as searches see it that look two labels back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tasks/sequence/label_histories.hpp"

namespace marginloom {

// What is observed at the tokens of a sentence.
struct Observations {
  std::span<const std::uint64_t> offsets = {};  // one more than there are tokens; empty if nothing is
  std::span<const std::uint32_t> all = {};      // which the offsets count

  [[nodiscard]] std::span<const std::uint32_t> of(std::size_t token) const {
    if (offsets.empty()) return {};
    return all.subspan(offsets[token], offsets[token + 1] - offsets[token]);
  }
};

struct HistoryChain {
  const double* tokens;       // scores of labels: a row per token
  const double* transitions;  // a row per label: to the labels that follow
  std::size_t length;
  std::size_t labels;
  std::size_t stride;  // of rows
  const LabelHistories* histories;
  const double* weights;  // of their combinations
  Observations observations;

  [[nodiscard]] const double* token(std::size_t t) const { return tokens + t * stride; }

  // Calls function(observation) for what is observed at token t and looks back no further than `labels_before` of the
  // two labels before it, first the observation that every token has.
  template <class Function>
  void for_observations(std::size_t t, std::size_t labels_before, Function function) const {
    const std::size_t everywhere = histories->of_every_token();
    if (labels_before >= 2 && everywhere != LabelHistories::none) function(everywhere);
    for (const std::uint32_t observation : observations.of(t)) {
      if (labels_before >= 2 || histories->reach(observation) == LabelHistories::Reach::before) function(observation);
    }
  }

  // What a label adds to the score of a path, which is `sum`, at a token that is not the first one, added up in the
  // order in which beam search does it. For the second token the label before that may be anything.
  [[nodiscard]] double step(std::size_t t, std::size_t before_that, std::size_t before, std::size_t label,
                            double sum = 0) const {
    sum += token(t)[label] + transitions[before * stride + label];
    const auto add = [&](std::size_t observation) {
      const std::uint32_t history = histories->history(histories->reach(observation), before_that, before);
      const std::size_t j = histories->find(observation, history, label);
      if (j != LabelHistories::none) sum += weights[j];
    };
    for_observations(t, 1, add);
    if (t < 2) return sum;
    for_observations(t, 2, [&](std::size_t observation) {
      if (histories->reach(observation) != LabelHistories::Reach::before) add(observation);
    });
    return sum;
  }
};

}  // namespace marginloom
