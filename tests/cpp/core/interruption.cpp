// Work that was told to stop ends within a search, on whichever thread it runs.
#include "core/interruption.hpp"

#include <atomic>
#include <cstddef>
#include <stdexcept>

#include "core/parallel.hpp"
#include "core/team.hpp"
#include "test.hpp"

using marginloom::count_steps;
using marginloom::Interrupted;
using marginloom::Listening;
using marginloom::parallel_for;
using marginloom::StopRequest;
using marginloom::Team;

namespace {

constexpr std::size_t many = 1 << 20;

StopRequest stop_at(std::size_t last, std::size_t& asked) {
  return StopRequest([last, &asked] { return ++asked >= last; }, StopRequest::Time(0));
}

// A search without an end.
void search() {
  for (;;) count_steps(many);
}

TEST("interruption: a search ends at the request of what it listens to, and only then") {
  std::size_t asked = 0;
  StopRequest stop = stop_at(3, asked);
  {
    const Listening listening(stop);
    CHECK_THROWS(Interrupted, search(), "interrupted");
    CHECK(asked == 3);
  }
  for (int k = 0; k < 100; ++k) count_steps(many);  // nobody can stop it any more
  CHECK(asked == 3);
}

TEST("interruption: the owner is asked by work that is done, not by how often it is counted") {
  std::size_t asked = 0;
  StopRequest stop = stop_at(1'000'000, asked);
  const Listening listening(stop);
  for (std::size_t k = 0; k < many; ++k) count_steps(1);
  CHECK(asked > 0);
  CHECK(asked <= many >> 10);
}

TEST("interruption: requests within requests end with their block") {
  std::size_t outer_asked = 0, inner_asked = 0;
  StopRequest outer = stop_at(1'000'000, outer_asked);
  StopRequest inner = stop_at(1, inner_asked);
  const Listening listening(outer);
  {
    const Listening within(inner);
    CHECK_THROWS(Interrupted, search(), "interrupted");
  }
  CHECK(inner_asked == 1);
  CHECK(outer_asked == 0);
  count_steps(many);
  CHECK(outer_asked == 1);
}

TEST("interruption: a caller that waits for other threads goes on asking, and they hear of it within a search") {
  for (const int threads : {2, 4}) {
    std::atomic<int> searching{0};
    StopRequest stop([&] { return searching == threads - 1; }, StopRequest::Time(0));
    const auto work = [&](int thread) {
      if (thread == 0) return;
      ++searching;
      search();
    };
    {
      const Listening listening(stop);
      Team team(threads);
      CHECK_THROWS(Interrupted, team.run(work), "interrupted");
    }
    searching = 0;
    StopRequest again([&] { return searching == threads - 1; }, StopRequest::Time(0));
    std::atomic<int> started{0};
    CHECK(
        !parallel_for(static_cast<std::size_t>(threads), 1, threads, again, [&](int thread, std::size_t, std::size_t) {
          ++started;
          while (started < threads) {  // each takes one
          }
          work(thread);
        }));
  }
}

TEST("interruption: an owner that has stopped the work is heard again while others go on") {
  std::atomic<int> asked{0};
  std::atomic<bool> ended{false};
  StopRequest stop([&] { return ++asked > 0; }, StopRequest::Time(0));
  const Listening listening(stop);
  Team team(2);
  team.run([&](int thread) {
    if (thread == 1) {
      while (asked < 3) {  // work that does not listen
      }
      ended = true;
    }
  });
  CHECK(ended);
  CHECK(asked >= 3);
}

TEST("interruption: another thread's exception is not lost beside a request to stop") {
  std::atomic<int> started{0};
  StopRequest stop([&] { return started == 2; }, StopRequest::Time(0));
  const auto work = [&](int thread, std::size_t, std::size_t) {
    ++started;
    while (started < 2) {  // each thread takes one
    }
    if (thread == 1) throw std::runtime_error("no scratch");
    search();
  };
  CHECK_THROWS(std::runtime_error, parallel_for(2, 1, 2, stop, work), "no scratch");
}

TEST("interruption: the owner is told how much of the work is done") {
  std::size_t asked = 0, last = 0;
  StopRequest stop = stop_at(1'000'000, asked);
  marginloom::Progress progress{.total = 7};
  stop.on_progress([&](std::size_t done, std::size_t total) {
    CHECK(total == 7);
    last = done;
  });
  CHECK(!stop.stopped());
  CHECK(last == 0);
  {
    const marginloom::Following following(stop, progress);
    progress.done += 4;
    CHECK(!stop.stopped());
    CHECK(last == 4);
  }
  progress.done += 1;
  CHECK(!stop.stopped());
  CHECK(last == 4);
}

}  // namespace
