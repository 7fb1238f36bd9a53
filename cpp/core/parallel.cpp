#include "core/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "core/team.hpp"

namespace marginloom {
bool parallel_for(std::size_t size, std::size_t chunk, int threads, StopRequest& stop,
                  const std::function<void(int, std::size_t, std::size_t)>& body) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> ended{false};
  Failure failure;
  Listening listening(stop);
  std::mutex mutex;
  std::condition_variable changed;
  int at_work = 0;
  const auto take_chunks = [&](int thread, auto stopped) {
    try {
      while (!ended.load(std::memory_order_relaxed)) {
        const std::size_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
        if (begin >= size) return;
        if (stopped()) {
          ended = true;
          return;
        }
        body(thread, begin, std::min(begin + chunk, size));
      }
    } catch (const Interrupted&) {
      ended = true;
    } catch (...) {
      failure.capture();
      ended = true;
    }
  };
  const auto help = [&](int thread) {
    {
      const ListeningForCaller heard(&listening);
      take_chunks(thread, [] { return false; });
    }
    const std::lock_guard lock(mutex);
    if (--at_work == 0) changed.notify_one();
  };
  {
    const std::size_t chunks = (size + chunk - 1) / chunk;
    const int helpers = static_cast<int>(std::min<std::size_t>(chunks, std::max(threads, 1))) - 1;
    std::vector<std::jthread> team;
    team.reserve(static_cast<std::size_t>(std::max(helpers, 0)));
    at_work = std::max(helpers, 0);
    try {
      for (int thread = 1; thread <= helpers; ++thread) team.emplace_back(help, thread);
    } catch (const std::system_error&) {  // the system has no more of them, or no memory for their stacks
      const std::lock_guard lock(mutex);
      at_work -= helpers - static_cast<int>(team.size());
    }
    take_chunks(0, [&] { return listening.stopped(); });
    std::unique_lock lock(mutex);
    wait_listening(lock, changed, [&] { return at_work == 0; });
  }
  failure.rethrow();
  return !ended.load();
}

}  // namespace marginloom
