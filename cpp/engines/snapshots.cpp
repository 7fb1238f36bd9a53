#include "engines/snapshots.hpp"

#include <algorithm>

namespace marginloom {

Snapshots::Snapshots(std::shared_ptr<const Task> task, std::size_t readers) : task_(std::move(task)) {
  buffers_.reserve(copies(readers));
  for (std::size_t copy = 0; copy < copies(readers); ++copy) buffers_.emplace_back(task_->dimension());
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
  std::unique_lock lock(mutex_);
  const bool behind = buffers_[current_].applied < forgotten_ + deltas_.size();
  if (const auto chosen = behind && !writing_ ? outdated_buffer() : std::nullopt) {
    bring_up_to_date(buffers_[*chosen], lock);
    current_ = *chosen;
    recycle();
  }
  ++buffers_[current_].readers;
  return {this, current_};
}

// A buffer that nobody reads, and that nobody can come to read: readers pin the current one. With a single buffer the
// only reader is the one that asks.
std::optional<std::size_t> Snapshots::outdated_buffer() const {
  for (std::size_t b = 0; b < buffers_.size(); ++b) {
    if ((b != current_ || buffers_.size() == 1) && buffers_[b].readers == 0) return b;
  }
  return std::nullopt;
}

// Applies what the buffer lacks; the lock is open meanwhile.
void Snapshots::bring_up_to_date(Buffer& buffer, std::unique_lock<std::mutex>& lock) {
  writing_ = true;
  while (buffer.applied < forgotten_ + deltas_.size()) {
    const Published& next =
        deltas_[buffer.applied - forgotten_];  // a deque: it stays where it is while others are added
    const WeightDelta* delta = next.delta.get();
    const std::uint64_t version = next.version;
    lock.unlock();
    delta->apply(*task_, buffer.weights.values());
    lock.lock();
    ++buffer.applied;
    buffer.version = version;
  }
  writing_ = false;
}

// Takes back the deltas that every buffer has.
void Snapshots::recycle() {
  const std::uint64_t everywhere = std::ranges::min_element(buffers_, {}, &Buffer::applied)->applied;
  for (; forgotten_ < everywhere; ++forgotten_) {
    deltas_.front().delta->clear();
    spare_.push_back(std::move(deltas_.front().delta));
    deltas_.pop_front();
  }
}

void Snapshots::publish(std::uint64_t version) {
  if (open_->empty()) return;
  const std::lock_guard lock(mutex_);
  deltas_.push_back({std::move(open_), version});
  if (spare_.empty()) {
    open_ = std::make_unique<WeightDelta>();
  } else {
    open_ = std::move(spare_.back());
    spare_.pop_back();
  }
}

void Snapshots::reset(std::span<const double> weights, std::uint64_t version) {
  for (Buffer& buffer : buffers_) {
    std::ranges::copy(weights, buffer.weights.values().begin());
    buffer.version = version;
    buffer.applied = forgotten_ + deltas_.size();
  }
  open_->clear();
  recycle();
}

}  // namespace marginloom
