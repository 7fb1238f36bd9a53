#include "learners/sparse_sum.hpp"

#include <algorithm>

namespace marginloom {

void SparseAdder::take(SparseSum& result) {
  result.clear();
  blocks_.assign(touched_.blocks().begin(), touched_.blocks().end());
  std::ranges::sort(blocks_);
  for (const std::uint32_t block : blocks_) {
    const std::size_t begin = static_cast<std::size_t>(block) * DirtyBlocks::block_size;
    const std::size_t end = std::min(begin + DirtyBlocks::block_size, sum_.size());
    for (std::size_t k = begin; k < end; ++k) {
      if (sum_[k] == 0) continue;
      result.push_back(static_cast<WeightIndex>(k), sum_[k]);
      sum_[k] = 0;
    }
  }
  touched_.clear();
}

}  // namespace marginloom
