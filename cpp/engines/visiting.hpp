// What engines that visit examples in a random order share.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "core/state.hpp"

namespace marginloom {

struct VisitOptions {
  std::uint64_t seed = 0;
  bool shuffle = true;  // a new order of the examples in every pass
};

[[nodiscard]] inline std::vector<std::size_t> pass_order(std::vector<std::size_t> examples, const VisitOptions& options,
                                                         Random& random) {
  if (options.shuffle) random.shuffle(std::span(examples));
  return examples;
}

[[nodiscard]] inline StateArrays with_engine_state(StateArrays state, std::span<const double> weights,
                                                   const Random& random) {
  state["weights"] = std::vector<double>(weights.begin(), weights.end());
  state["random"] = std::vector<std::uint64_t>{random.state()};
  return state;
}

[[nodiscard]] inline Random restored_random(const StateArrays& state) {
  const auto& words = state_array<std::uint64_t>(state, "random");
  if (words.size() != 1) throw std::invalid_argument("'random' of the state is not one number");
  return Random(words[0]);
}

// The weights are what the duals say. Saved weights are the same up to rounding, and taken for their last bits, so that
// a resumed run repeats an uninterrupted one; if they differ by more they belong to other features.
inline void restore_last_bits(std::span<const double> saved, std::span<double> weights) {
  if (saved.size() != weights.size()) return;
  double scale = 1;
  for (const double value : weights) scale = std::max(scale, std::abs(value));
  for (std::size_t k = 0; k < weights.size(); ++k) {
    if (!(std::abs(saved[k] - weights[k]) <= 1e-9 * scale)) return;
  }
  std::ranges::copy(saved, weights.begin());
}

}  // namespace marginloom
