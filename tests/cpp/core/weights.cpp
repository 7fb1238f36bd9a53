#include <algorithm>
#include <latch>
#include <thread>
#include <vector>

#include "core/weight_buffer.hpp"
#include "core/weight_writer.hpp"
#include "problems.hpp"
#include "test.hpp"

using marginloom::Random;
using marginloom::WeightBuffer;
using marginloom::WeightIndex;
using marginloom::WeightWriter;

TEST("weights: a buffer starts as zeros") {
  for (const std::size_t size : {0, 1, 7, 100000}) {
    WeightBuffer buffer(size);
    CHECK(buffer.size() == size);
    CHECK(buffer.values().size() == size);
    CHECK(std::ranges::all_of(buffer.values(), [](double value) { return value == 0; }));
  }
}

TEST("weights: two buffers share nothing") {
  WeightBuffer first(10);
  WeightBuffer second(10);
  first.values()[2] = 1;
  CHECK(second.values()[2] == 0);
}

TEST("weights: atomic adds of several threads lose nothing") {
  constexpr int threads = 4;
  constexpr int rounds = 100000;
  std::vector<double> w(3, 0.0);
  std::latch start(threads);
  {
    std::vector<std::jthread> team;
    for (int thread = 0; thread < threads; ++thread) {
      team.emplace_back([&] {
        const WeightWriter shared{w.data(), true};
        start.arrive_and_wait();
        for (int round = 0; round < rounds; ++round) shared.add(static_cast<WeightIndex>(round % 3 == 0), 1);
        shared.add(2, marginloom::read_weight(w, 2) >= 0 ? 1 : 0);
      });
    }
  }
  const int every_third = (rounds + 2) / 3;
  CHECK(w[1] == threads * every_third);
  CHECK(w[0] == threads * (rounds - every_third));
  CHECK(w[2] == threads);
}

TEST("weights: plain and atomic writers do the same") {
  constexpr std::size_t dimension = 40;
  Random random(4);
  std::vector<double> plain = problems::random_vector(dimension, random, problems::uniform);
  std::vector<double> atomic = plain;
  const WeightWriter plainly{plain.data()};
  const WeightWriter atomically{atomic.data(), true};
  CHECK(plainly.plain() == plain.data());
  CHECK(atomically.plain() == nullptr);
  for (int repeat = 0; repeat < 1000; ++repeat) {
    const auto k = static_cast<WeightIndex>(random.below(dimension));
    const double change = problems::uniform(random);
    plainly.add(k, change);
    atomically.add(k, change);
    CHECK(marginloom::read_weight(atomic, k) == plain[k]);
  }
  CHECK(problems::same_bits(atomic, plain));
}
