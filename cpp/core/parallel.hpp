// Work shared out over threads, and the way out of long work.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>

namespace marginloom {

// What work throws that has been stopped and has nothing to return.
struct Interrupted : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

// Asks its owner now and then whether to stop; cheap enough to be called for every example.
class StopRequest {
 public:
  using Time = std::chrono::milliseconds;

  StopRequest() = default;
  explicit StopRequest(std::function<bool()> ask, Time least = Time(50)) : ask_(std::move(ask)), least_(least) {}

  // True once the owner has said so. Asks at most once in the least time. Call from one thread.
  bool stopped() {
    if (stopped_ || !ask_) return stopped_;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < least_) return false;
    last_ = now;
    stopped_ = ask_();
    return stopped_;
  }

  // The same for work that ends by an exception.
  void check() {
    if (stopped()) throw Interrupted();
  }

 private:
  std::function<bool()> ask_;
  Time least_{50};
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  bool stopped_ = false;
};

// Calls body(thread, begin, end) for consecutive chunks that cover [0, size), on `threads` threads of which
// the caller is one (and the only one that polls `stop`). Chunks are handed out in order, so threads that
// finish early take more. The first exception of any thread is rethrown here after all have ended. Returns
// false if it was stopped before the end.
[[nodiscard]] bool parallel_for(std::size_t size, std::size_t chunk, int threads, StopRequest& stop,
                                const std::function<void(int, std::size_t, std::size_t)>& body);

}  // namespace marginloom
