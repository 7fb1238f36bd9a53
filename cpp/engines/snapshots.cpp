#include "engines/snapshots.hpp"

#include <algorithm>
#include <utility>

namespace marginloom {

Snapshots::Snapshots(std::size_t dimension) {
  constexpr int copies = 3;  // the current one, one that late readers still have, and one to write
  buffers_.reserve(copies);
  for (int copy = 0; copy < copies; ++copy) buffers_.emplace_back(dimension);
}

Snapshots::Pin& Snapshots::Pin::operator=(Pin&& other) noexcept {
  if (this != &other) {
    release();
    owner_ = std::exchange(other.owner_, nullptr);
    buffer_ = other.buffer_;
  }
  return *this;
}

void Snapshots::Pin::release() {
  if (!owner_) return;
  const std::lock_guard lock(owner_->mutex_);
  --owner_->buffers_[buffer_].readers;
  owner_ = nullptr;
}

Snapshots::Pin Snapshots::pin() {
  const std::lock_guard lock(mutex_);
  ++buffers_[current_].readers;
  return {this, current_};
}

std::optional<std::size_t> Snapshots::free_buffer() {
  const std::lock_guard lock(mutex_);
  for (std::size_t b = 0; b < buffers_.size(); ++b) {
    if (b != current_ && buffers_[b].readers == 0) return b;  // and none can come: readers pin the current one
  }
  return std::nullopt;
}

bool Snapshots::publish(std::span<const double> weights, DirtyBlocks& changed, std::uint64_t version) {
  for (Buffer& buffer : buffers_) {
    for (const std::uint32_t block : changed.blocks()) buffer.stale.mark_block(block);
  }
  changed.clear();
  const auto chosen = free_buffer();
  if (!chosen) return false;
  Buffer& buffer = buffers_[*chosen];
  const auto target = buffer.weights.values();
  for (const std::uint32_t block : buffer.stale.blocks()) {
    const std::size_t begin = static_cast<std::size_t>(block) * DirtyBlocks::block_size;
    const std::size_t count = std::min(DirtyBlocks::block_size, weights.size() - begin);
    std::ranges::copy(weights.subspan(begin, count), target.begin() + static_cast<std::ptrdiff_t>(begin));
  }
  buffer.stale.clear();
  buffer.version = version;
  const std::lock_guard lock(mutex_);
  current_ = *chosen;
  return true;
}

void Snapshots::reset(std::span<const double> weights, std::uint64_t version) {
  for (Buffer& buffer : buffers_) {
    std::ranges::copy(weights, buffer.weights.values().begin());
    buffer.stale.clear();
    buffer.version = version;
  }
}

}  // namespace marginloom
