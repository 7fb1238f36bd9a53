// Sparse rows of indicators, one for every token, span or pair of spans.
#pragma once

#include <cstdint>
#include <vector>

namespace marginloom {

struct SparseRows {
  std::vector<std::uint64_t> tokens{0};  // row t has the features tokens[t] .. tokens[t + 1] - 1
  std::vector<std::uint32_t> features;
};

}  // namespace marginloom
