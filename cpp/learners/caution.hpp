// How often the curvature of a weight counts in a step, where other threads move the weight at the same time.
#pragma once

#include <cstdint>
#include <span>

#include "core/types.hpp"

namespace marginloom {

struct Caution {
  double most = 1;  // of weights that all visits move, and of all weights where differences are implicit
  // By weight: how many of some visits move it; and what follows from that number, from 1 to `most`. Without them all
  // weights count alike.
  std::span<const std::uint8_t> crowds = {};
  std::span<const double> factors = {};

  [[nodiscard]] double of(WeightIndex k) const { return crowds.empty() ? most : factors[crowds[k]]; }
};

}  // namespace marginloom
