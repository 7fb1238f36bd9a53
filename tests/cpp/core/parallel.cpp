#include "core/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "test.hpp"

using marginloom::parallel_for;
using marginloom::StopRequest;

TEST("parallel: every index is covered exactly once") {
  for (const std::size_t size : {1, 2, 3, 7, 31, 64, 65, 1000}) {
    for (const std::size_t chunk : {1, 2, 3, 7, 64, 2000}) {
      for (const int threads : {-1, 0, 1, 2, 3, 5, 8}) {
        StopRequest stop;
        std::vector<std::atomic<int>> visits(size);
        // Not atomic: no two calls may have the same thread number at once.
        std::vector<std::size_t> by_thread(static_cast<std::size_t>(std::max(threads, 1)), 0);
        std::atomic<bool> bad_chunk{false};
        const bool complete =
            parallel_for(size, chunk, threads, stop, [&](int thread, std::size_t begin, std::size_t end) {
              if (begin % chunk != 0 || end != std::min(begin + chunk, size)) bad_chunk = true;
              by_thread.at(static_cast<std::size_t>(thread)) += end - begin;
              for (std::size_t k = begin; k < end; ++k) ++visits[k];
            });
        CHECK(complete);
        CHECK(!bad_chunk);
        CHECK(std::ranges::all_of(visits, [](const auto& count) { return count == 1; }));
        std::size_t sum = 0;
        for (const std::size_t count : by_thread) sum += count;
        CHECK(sum == size);
      }
    }
  }
}

TEST("parallel: nothing to do calls nothing and is complete") {
  for (const int threads : {0, 1, 4}) {
    StopRequest stop([] { return true; });
    int calls = 0;
    CHECK(parallel_for(0, 16, threads, stop, [&](int, std::size_t, std::size_t) { ++calls; }));
    CHECK(calls == 0);
  }
}

TEST("parallel: work is done on more than one thread") {
  StopRequest stop;
  // Each of two calls waits for the other: one thread alone would never end.
  std::atomic<int> inside{0};
  std::vector<std::thread::id> who(2);
  CHECK(parallel_for(2, 1, 2, stop, [&](int thread, std::size_t, std::size_t) {
    who.at(static_cast<std::size_t>(thread)) = std::this_thread::get_id();
    ++inside;
    inside.notify_all();
    for (int seen = inside; seen < 2; seen = inside) inside.wait(seen);
  }));
  CHECK(who[0] == std::this_thread::get_id());
  CHECK(who[1] != who[0]);
}

TEST("parallel: the exception of a worker thread reaches the caller with its text") {
  StopRequest stop;
  for (const int threads : {2, 4}) {
    std::atomic<bool> thrown{false};
    CHECK_THROWS(std::runtime_error,
                 parallel_for(1000, 1, threads, stop,
                              [&](int thread, std::size_t, std::size_t) {
                                if (thread == 0) {
                                  thrown.wait(false);
                                  return;
                                }
                                thrown = true;
                                thrown.notify_all();
                                throw std::runtime_error("worker has no scratch");
                              }),
                 "worker has no scratch");
    CHECK(thrown);
  }
}

TEST("parallel: the exception of the calling thread reaches the caller") {
  StopRequest stop;
  std::size_t calls = 0;
  CHECK_THROWS(std::invalid_argument,
               parallel_for(10, 1, 1, stop,
                            [&](int, std::size_t begin, std::size_t) {
                              ++calls;
                              if (begin == 3) throw std::invalid_argument("item 3 is broken");
                            }),
               "item 3 is broken");
  CHECK(calls == 4);
}

TEST("parallel: if all threads throw, one exception arrives") {
  StopRequest stop;
  CHECK_THROWS(
      std::runtime_error,
      parallel_for(100, 1, 4, stop, [](int, std::size_t, std::size_t) { throw std::runtime_error("everyone fails"); }),
      "everyone fails");
}

TEST("parallel: a stop request ends work that would never end") {
  for (const int threads : {1, 3}) {
    StopRequest stop([] { return true; });
    std::atomic<std::size_t> calls{0};
    CHECK(!parallel_for(std::size_t{1} << 60, 1, threads, stop, [&](int, std::size_t, std::size_t) { ++calls; }));
    CHECK(calls > 0);
  }
}

TEST("parallel: a stop request stays stopped and asks no more") {
  int asked = 0;
  StopRequest stop([&] { return ++asked == 2; });
  while (!stop.stopped()) {
  }
  CHECK(asked == 2);
  CHECK(stop.stopped());
  CHECK(asked == 2);
  CHECK(!parallel_for(10, 1, 1, stop, [](int, std::size_t, std::size_t) {}));
}

TEST("parallel: without an owner nothing stops") {
  StopRequest stop;
  CHECK(!stop.stopped());
  CHECK(parallel_for(100, 3, 2, stop, [](int, std::size_t, std::size_t) {}));
}
