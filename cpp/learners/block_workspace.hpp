// What one thread needs to work on a whole block; reused without allocating once it has grown.
#pragma once

#include <span>
#include <vector>

#include "core/candidate.hpp"
#include "core/simplex_qp.hpp"
#include "core/types.hpp"

namespace marginloom {

struct BlockWorkspace {
  SimplexQp qp;
  std::vector<double> duals;
  std::vector<double> gradient;
  std::vector<double> steps;
  std::vector<ByteView> outputs;                    // of the members in order
  std::vector<std::span<const Entry>> differences;  // of the members in order; empty if implicit
  std::vector<Entry> rebuilt;                       // differences that the block does not store
  std::vector<double> spread;                       // one number per weight, all 0 between uses
};

}  // namespace marginloom
