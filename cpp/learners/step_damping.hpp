// How often the curvature of a weight counts in a step: more than once where other threads move the weight at the same
// time, which makes steps shorter.
#pragma once

#include <cstdint>
#include <span>

#include "core/types.hpp"

namespace marginloom {

struct StepDamping {
  double most = 1;  // of weights that all visits move, and of all weights where differences are implicit
  // By weight: how many of some visits move it; and what follows from that number, from 1 to `most`. Without them all
  // weights count alike.
  std::span<const std::uint8_t> movers = {};
  std::span<const double> factors = {};

  [[nodiscard]] double of(WeightIndex k) const { return movers.empty() ? most : factors[movers[k]]; }
};

}  // namespace marginloom
