// What engines of online learners share in restoring a state.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "core/state.hpp"

namespace marginloom {

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
