// What the tests of visits share.
#pragma once

#include <cstdint>

#include "learners/visit.hpp"

namespace visits {

[[nodiscard]] inline marginloom::Visit seeded(std::uint64_t seed, double damping = 1) {
  marginloom::Visit visit;
  visit.asked.random = marginloom::Random(seed);
  visit.asked.damping.most = damping;
  return visit;
}

}  // namespace visits
