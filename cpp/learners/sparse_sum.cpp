#include "learners/sparse_sum.hpp"

#include <algorithm>

namespace marginloom {

void SparseAdder::take(SparseSum& result) {
  constexpr std::size_t few = 16;  // one in so many: then it pays to sort them
  result.clear();
  if (touched_.blocks().size() * few < touched_.all()) {
    blocks_.assign(touched_.blocks().begin(), touched_.blocks().end());
    std::ranges::sort(blocks_);
    for (const std::uint32_t block : blocks_) take_block(block, result);
  } else {
    for (std::size_t block = 0; block < touched_.all(); ++block) {
      if (touched_.marked(block)) take_block(block, result);
    }
  }
  touched_.clear();
}

void SparseAdder::take_block(std::size_t block, SparseSum& result) {
  const std::size_t begin = block * DirtyBlocks::block_size;
  const std::size_t end = std::min(begin + DirtyBlocks::block_size, sum_.size());
  const auto sum = sum_.values();
  for (std::size_t k = begin; k < end; ++k) {
    if (sum[k] == 0) continue;
    result.push_back(static_cast<WeightIndex>(k), sum[k]);
    sum[k] = 0;
  }
}

}  // namespace marginloom
