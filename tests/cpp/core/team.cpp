// Threads that are called together, again and again.
#include "core/team.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "core/parallel.hpp"
#include "little_memory.hpp"
#include "test.hpp"

using marginloom::Team;

TEST("team: every thread works once in every call, and what they wrote is seen by the caller") {
  for (const int threads : {1, 2, 3, 16}) {
    Team team(threads);
    CHECK(team.size() == threads);
    std::vector<std::size_t> counts(static_cast<std::size_t>(threads) * 8);
    for (int call = 1; call <= 300; ++call) {
      team.run(
          [&](int thread) { counts[static_cast<std::size_t>(thread) * 8] += static_cast<std::size_t>(thread) + 1; });
      for (std::size_t thread = 0; thread < static_cast<std::size_t>(threads); ++thread) {
        CHECK(counts[thread * 8] == (thread + 1) * static_cast<std::size_t>(call));
      }
    }
  }
}

TEST("team: what the caller wrote before a call is seen by all") {
  Team team(4);
  std::vector<int> data(100);
  std::atomic<int> wrong{0};
  for (int call = 0; call < 200; ++call) {
    for (int& value : data) value = call;
    team.run([&](int) {
      for (const int value : data) wrong += value == call ? 0 : 1;
    });
  }
  CHECK(wrong == 0);
}

TEST("team: an exception of any thread reaches the caller after all have ended, and the team works on") {
  Team team(3);
  for (int thrower = 0; thrower < 3; ++thrower) {
    std::atomic<int> ended{0};
    const auto work = [&](int thread) {
      if (thread == thrower) throw std::runtime_error("thread " + std::to_string(thread) + " failed");
      ++ended;
    };
    CHECK_THROWS(std::runtime_error, team.run(work), "thread " + std::to_string(thrower) + " failed");
    CHECK(ended == 2);
  }
  std::atomic<int> worked{0};
  team.run([&](int) { ++worked; });
  CHECK(worked == 3);
}

TEST("team: shared work is done once, by whoever is there, and calls of both kinds may follow each other") {
  for (const int threads : {1, 2, 3, 16}) {
    Team team(threads);
    std::vector<int> done(40);
    for (int call = 1; call <= 500; ++call) {
      std::atomic<std::size_t> next{0};
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(threads));
      team.share([&](int thread) {
        ++visits[static_cast<std::size_t>(thread)];
        for (std::size_t piece; (piece = next.fetch_add(1)) < done.size();) ++done[piece];
      });
      for (const int count : done) CHECK(count == call);
      CHECK(visits[0] == 1);
      for (const auto& count : visits) CHECK(count <= 1);
      if (call % 3 != 0) continue;
      std::atomic<int> worked{0};
      team.run([&](int) { ++worked; });
      CHECK(worked == threads);
    }
  }
}

TEST("team: an exception in shared work reaches the caller") {
  Team team(3);
  for (int call = 0; call < 50; ++call) {
    std::atomic<std::size_t> next{0};
    const auto work = [&](int) {
      for (std::size_t piece; (piece = next.fetch_add(1)) < 20;) {
        if (piece == 7) throw std::runtime_error("piece 7 failed");
      }
    };
    CHECK_THROWS(std::runtime_error, team.share(work), "piece 7 failed");
  }
}

TEST("team: a team that never worked ends") {
  const Team team(5);
  CHECK(team.size() == 5);
}

#if defined(__linux__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)

TEST("team: where the system gives too few threads, a team ends and work is shared by fewer") {
  const LittleMemory memory;
  CHECK_THROWS(std::system_error, Team(512), "");
  marginloom::StopRequest never;
  std::vector<int> done(2000);
  CHECK(marginloom::parallel_for(done.size(), 1, 512, never, [&](int, std::size_t k, std::size_t) { ++done[k]; }));
  CHECK(std::ranges::count(done, 1) == 2000);
}

#endif
