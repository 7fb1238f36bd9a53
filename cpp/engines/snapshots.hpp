// Copies of a weight vector that one thread changes and others read, such that nobody ever reads what is being written.
//
// The writer notes its steps in a delta, and publishing them is handing it over. A reader that wants newer
// weights takes a copy that nobody reads, applies to it the deltas that it lacks, and makes it the current one;
// meanwhile the other readers go on with what they have. So publishing costs what changed, not the size of the vector,
// and it costs the readers, which share it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/task.hpp"
#include "core/types.hpp"
#include "core/weight_delta.hpp"
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

  // How many copies there are for so many threads that read, each with one pin at a time.
  [[nodiscard]] static std::size_t copies(std::size_t readers) { return readers > 1 ? 2 : 1; }

  Snapshots(std::shared_ptr<const Task> task, std::size_t readers);

  // Of readers: the newest weights that can be had without waiting.
  [[nodiscard]] Pin pin();

  // Of the writer: where to note steps, and to hand over what was noted.
  [[nodiscard]] WeightDelta& delta() { return *open_; }
  void publish(std::uint64_t version);

  // Makes all copies what the weights are, whatever was noted; nobody may be reading.
  void reset(std::span<const double> weights, std::uint64_t version);

 private:
  struct Buffer {
    explicit Buffer(std::size_t dimension) : weights(dimension) {}
    ZeroedArray weights;
    std::uint64_t applied = 0;  // deltas, of all that were ever published
    std::uint64_t version = 0;
    int readers = 0;
  };
  struct Published {
    std::unique_ptr<WeightDelta> delta;
    std::uint64_t version;
  };
  [[nodiscard]] std::optional<std::size_t> outdated_buffer() const;
  void bring_up_to_date(Buffer& buffer, std::unique_lock<std::mutex>& lock);
  void recycle();

  std::shared_ptr<const Task> task_;
  std::unique_ptr<WeightDelta> open_ = std::make_unique<WeightDelta>();
  std::mutex
      mutex_;  // of all that follows, except for the weights of a buffer, which belong to who reads or writes them
  std::vector<Buffer> buffers_;
  std::size_t current_ = 0;
  bool writing_ = false;          // a reader is bringing a buffer up to date
  std::deque<Published> deltas_;  // those that some buffer lacks, oldest first
  std::uint64_t forgotten_ = 0;   // deltas before them
  std::vector<std::unique_ptr<WeightDelta>> spare_;
};

}  // namespace marginloom
