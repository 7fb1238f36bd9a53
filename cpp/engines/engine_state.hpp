// What engines add to the state of a learner, and how they restore it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "core/state.hpp"

namespace marginloom {

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

// The weights of that name; std::invalid_argument if they are not for a task of that size.
[[nodiscard]] inline const std::vector<double>& saved_weights(const StateArrays& state, const std::string& name,
                                                              std::size_t size) {
  const auto& weights = state_array<double>(state, name);
  if (!all_finite(weights)) throw std::invalid_argument("'" + name + "' of the state has NaN or infinite values");
  if (weights.size() != size) {
    throw std::invalid_argument("the state has " + std::to_string(weights.size()) + " weights, the task " +
                                std::to_string(size));
  }
  return weights;
}

}  // namespace marginloom
