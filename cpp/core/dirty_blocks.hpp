// Which parts of a weight vector have changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/types.hpp"

namespace marginloom {

// Remembers blocks of two cache lines, each once, in the order in which they were first marked.
class DirtyBlocks {
 public:
  static constexpr std::size_t block_size = 16;

  explicit DirtyBlocks(std::size_t dimension) : marked_((dimension + block_size - 1) / block_size, 0) {
    blocks_.reserve(marked_.size());
  }

  void mark(WeightIndex k) { mark_block(k / block_size); }
  void mark_block(std::size_t block) {
    if (marked_[block]) return;
    marked_[block] = 1;
    blocks_.push_back(static_cast<std::uint32_t>(block));
  }
  [[nodiscard]] std::span<const std::uint32_t> blocks() const { return blocks_; }
  [[nodiscard]] bool marked(std::size_t block) const { return marked_[block] != 0; }
  [[nodiscard]] std::size_t all() const { return marked_.size(); }
  void clear() {
    for (const std::uint32_t block : blocks_) marked_[block] = 0;
    blocks_.clear();
  }

 private:
  std::vector<std::uint8_t> marked_;
  std::vector<std::uint32_t> blocks_;
};

}  // namespace marginloom
