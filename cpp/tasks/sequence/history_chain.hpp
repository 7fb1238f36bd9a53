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
};

}  // namespace marginloom
