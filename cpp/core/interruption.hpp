// The way out of long work: its owner is asked now and then whether to stop, and searches deep within it hear of that.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <utility>

namespace marginloom {

// What work throws that has been stopped and has nothing to return.
struct Interrupted : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

// How much of long work is done. Any thread may count.
struct Progress {
  std::atomic<std::size_t> done{0};
  std::size_t total = 0;
};

// Asks its owner now and then whether to stop; cheap enough to be called for every example.
class StopRequest {
 public:
  using Time = std::chrono::milliseconds;
  using Tell = std::function<void(std::size_t done, std::size_t total)>;

  StopRequest() = default;
  explicit StopRequest(std::function<bool()> ask, Time least = Time(50)) : ask_(std::move(ask)), least_(least) {}

  // True once the owner has said so. Asks at most once in the least time. Call from one thread.
  bool stopped() { return stopped_ || asks_again(); }

  // The same, but asks at once unless the owner has said so already: after a long wait.
  bool stopped_now() {
    last_ = {};
    return stopped();
  }

  // The same for work that ends by an exception.
  void check() {
    if (stopped()) throw Interrupted();
  }

  // Asks again, also if the owner has said so already: while work that was told to stop has not ended, the owner may
  // have more to say.
  bool asks_again();

  // Calls this whenever the owner is asked, with how far the work is, where it says that (Following).
  void on_progress(Tell tell) { tell_ = std::move(tell); }

 private:
  friend class Following;
  std::function<bool()> ask_;
  Tell tell_;
  const Progress* progress_ = nullptr;
  Time least_{50};
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  bool stopped_ = false;
};

class Listening;

// Lets the owner of a request know how far work is, until the end of a block.
class Following {
 public:
  Following(StopRequest& request, const Progress& progress) : request_(request) { request_.progress_ = &progress; }
  ~Following() { request_.progress_ = nullptr; }
  Following(const Following&) = delete;
  Following& operator=(const Following&) = delete;

 private:
  StopRequest& request_;
};

namespace detail {

// What a thread listens to.
struct Ear {
  Listening* listening = nullptr;
  bool asks = false;      // this thread asks the owner
  std::size_t steps = 0;  // since it last looked
};
extern constinit thread_local Ear ear;

void listen();

}  // namespace detail

// Lets what this thread does until the end of a block, and what Team and parallel_for put on other threads meanwhile,
// listen to a request. This thread asks the owner; the others look at what it was told.
class Listening {
 public:
  explicit Listening(StopRequest& request);
  ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

  // Ask the owner; for the thread that opened the block. The second one goes on asking while it waits for the others.
  bool stopped();
  void ask_again();

  [[nodiscard]] bool told_to_stop() const { return told_.load(std::memory_order_relaxed); }

 private:
  StopRequest& request_;
  std::atomic<bool> told_{false};
  detail::Ear before_;
};

// Lets a thread listen to the same as the one that it works for, until the end of a block.
class ListeningForCaller {
 public:
  explicit ListeningForCaller(Listening* caller);
  ~ListeningForCaller();
  ListeningForCaller(const ListeningForCaller&) = delete;
  ListeningForCaller& operator=(const ListeningForCaller&) = delete;

 private:
  detail::Ear before_;
};

// What this thread listens to; null if nobody can stop its work.
[[nodiscard]] inline Listening* listening_here() {
  return detail::ear.listening;
}

// Whether the owner of what this thread does has said so, as far as the thread that asks has been told.
[[nodiscard]] inline bool told_to_stop() {
  return listening_here() != nullptr && listening_here()->told_to_stop();
}

// Waits until ready(), and lets the owner speak meanwhile if this thread is the one that asks.
template <class Ready>
void wait_listening(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, Ready ready) {
  if (!detail::ear.asks) return changed.wait(lock, ready);
  while (!changed.wait_for(lock, std::chrono::milliseconds(50), ready)) {
    lock.unlock();
    listening_here()->ask_again();
    lock.lock();
  }
}

// Counts elementary steps of a search, such as additions in a chart. Throws Interrupted at a request to stop, which it
// looks for every so many steps: far more often than the owner wants to be asked, and too seldom to take time.
inline void count_steps(std::size_t steps) {
  constexpr std::size_t between_looks = 1 << 14;
  if ((detail::ear.steps += steps) >= between_looks) detail::listen();
}

}  // namespace marginloom
