// A learner's or engine's state as named arrays of numbers: what a checkpoint holds and a warm start takes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace marginloom {

using StateArray = std::variant<std::vector<double>, std::vector<std::uint64_t>, std::vector<std::uint8_t>>;
using StateArrays = std::map<std::string, StateArray>;

// The array of that name and type; std::invalid_argument if the state has none.
template <class T>
[[nodiscard]] const std::vector<T>& state_array(const StateArrays& state, const std::string& name) {
  const auto found = state.find(name);
  if (found == state.end()) throw std::invalid_argument("the state has no '" + name + "'");
  const auto* values = std::get_if<std::vector<T>>(&found->second);
  if (!values) throw std::invalid_argument("'" + name + "' of the state has the wrong type");
  return *values;
}

[[nodiscard]] inline bool all_finite(std::span<const double> values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

}  // namespace marginloom
