// What the tests of visits share.
#pragma once

#include <cstdint>

#include "learners/visit.hpp"

namespace visits {

[[nodiscard]] inline marginloom::Visit seeded(std::uint64_t seed, double caution = 1) {
  marginloom::Visit visit;
  visit.random = marginloom::Random(seed);
  visit.caution.most = caution;
  return visit;
}

}  // namespace visits
