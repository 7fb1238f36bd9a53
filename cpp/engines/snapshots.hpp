// Copies of a weight vector that one thread changes and others read, such that nobody ever reads what is being written.
//
// A few buffers take turns. The writer notes what it changes (TrackedWeights); to publish, it takes a buffer that
// nobody reads, brings it up to date where it has changed since that buffer was last in turn, and makes it the current
// one. So publishing costs what changed, not the size of the vector. Readers pin the current buffer for as long as they
// need it.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/dirty_blocks.hpp"
#include "core/types.hpp"
#include "core/zeroed_array.hpp"

namespace marginloom {

class Snapshots {
 public:
  // Read-only weights; they stay as they are until this goes.
  class Pin {
   public:
    Pin() = default;
    Pin(Pin&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)), buffer_(other.buffer_) {}
    Pin& operator=(Pin&& other) noexcept;
    ~Pin() { release(); }

    [[nodiscard]] WeightView weights() const { return owner_->buffers_[buffer_].weights.values(); }
    [[nodiscard]] std::uint64_t version() const { return owner_->buffers_[buffer_].version; }

   private:
    friend class Snapshots;
    Pin(Snapshots* owner, std::size_t buffer) : owner_(owner), buffer_(buffer) {}
    void release();

    Snapshots* owner_ = nullptr;
    std::size_t buffer_ = 0;
  };

  explicit Snapshots(std::size_t dimension);

  [[nodiscard]] Pin pin();

  // Of the writer. `changed` is what has changed since the last call; it is cleared. Returns false if every buffer is
  // being read: then the next call publishes these changes, too.
  bool publish(std::span<const double> weights, DirtyBlocks& changed, std::uint64_t version);

  // Makes all buffers what the weights are; nobody may be reading.
  void reset(std::span<const double> weights, std::uint64_t version);

 private:
  struct Buffer {
    explicit Buffer(std::size_t dimension) : weights(dimension), stale(dimension) {}
    ZeroedArray weights;
    DirtyBlocks stale;
    std::uint64_t version = 0;
    int readers = 0;
  };
  [[nodiscard]] std::optional<std::size_t> free_buffer();

  std::mutex mutex_;  // of readers and current
  std::vector<Buffer> buffers_;
  std::size_t current_ = 0;
};

}  // namespace marginloom
