// In which order an engine comes to the examples of a pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/random.hpp"

namespace marginloom {

struct OrderOptions {
  std::uint64_t seed = 0;
  bool shuffle = true;  // a new order of the examples in every pass
};

[[nodiscard]] inline std::vector<std::size_t> pass_order(std::vector<std::size_t> examples, const OrderOptions& options,
                                                         Random& random) {
  if (options.shuffle) random.shuffle(std::span(examples));
  return examples;
}

}  // namespace marginloom
