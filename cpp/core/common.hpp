// Small things that several tasks need.
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>

namespace marginloom {

// Refuses input with a sentence for the user.
template <class Text>
void require(bool condition, const Text& what) {
  if (!condition) throw std::invalid_argument(what);
}

[[nodiscard]] inline std::size_t first_maximum(const double* values, std::size_t count) {
  return static_cast<std::size_t>(std::max_element(values, values + count) - values);
}

}  // namespace marginloom
