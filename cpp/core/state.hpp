// A learner's or engine's state as named arrays of numbers: what a checkpoint holds and a warm start takes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace marginloom {

using StateArray = std::variant<std::vector<double>, std::vector<std::uint64_t>, std::vector<std::uint8_t>>;
using StateArrays = std::map<std::string, StateArray, std::less<>>;

// The array of that name and type; std::invalid_argument if the state has none.
template <class T>
[[nodiscard]] const std::vector<T>& state_array(const StateArrays& state, std::string_view name) {
  const auto found = state.find(name);
  if (found == state.end()) throw std::invalid_argument("the state has no '" + std::string(name) + "'");
  const auto* values = std::get_if<std::vector<T>>(&found->second);
  if (!values) throw std::invalid_argument("'" + std::string(name) + "' of the state has the wrong type");
  return *values;
}

// The array of that name of one state, then that of another one.
template <class T>
[[nodiscard]] std::vector<T> concatenated(const StateArrays& first, const StateArrays& second, std::string_view name) {
  std::vector<T> result = state_array<T>(first, name);
  const auto& more = state_array<T>(second, name);
  result.insert(result.end(), more.begin(), more.end());
  return result;
}

[[nodiscard]] inline bool all_finite(std::span<const double> values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

}  // namespace marginloom
