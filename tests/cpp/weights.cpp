#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <latch>
#include <thread>
#include <vector>

#include "core/weight_buffer.hpp"
#include "core/weight_policy.hpp"
#include "problems.hpp"
#include "test.hpp"

using marginloom::AtomicWeights;
using marginloom::Entry;
using marginloom::PlainWeights;
using marginloom::PrivateWeights;
using marginloom::Random;
using marginloom::WeightBuffer;
using marginloom::WeightIndex;

namespace {

// A second view of the buffer's memory, as another process would open it.
class Mapping {
 public:
  Mapping(int descriptor, std::size_t size) : bytes_(size * sizeof(double)) {
    data_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  }
  ~Mapping() {
    if (valid()) munmap(data_, bytes_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  [[nodiscard]] bool valid() const { return data_ != MAP_FAILED; }
  double& operator[](std::size_t k) { return static_cast<double*>(data_)[k]; }

 private:
  std::size_t bytes_;
  void* data_;
};

// Runs `work` in a forked process and returns its exit status.
template <class Work>
int in_child(Work work) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) _exit(work());
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::vector<Entry> random_difference(std::size_t dimension, Random& random) {
  std::vector<Entry> entries;
  for (std::size_t k = 0; k < dimension; ++k) {
    if (random.below(3) == 0) {
      entries.push_back({static_cast<WeightIndex>(k), static_cast<float>(problems::uniform(random))});
    }
  }
  return entries;
}

}  // namespace

TEST("weights: a buffer starts as zeros") {
  for (const std::size_t size : {0, 1, 7, 100000}) {
    WeightBuffer buffer(size);
    CHECK(buffer.size() == size);
    CHECK(buffer.values().size() == size);
    CHECK(std::ranges::all_of(buffer.values(), [](double value) { return value == 0; }));
  }
}

TEST("weights: a forked child shares the mapping") {
  WeightBuffer buffer(5000);
  buffer.values()[4999] = 0.25;
  const int status = in_child([&] {
    if (buffer.values()[4999] != 0.25) return 1;
    buffer.values()[0] = 1.5;
    return 0;
  });
  CHECK(status == 0);
  CHECK(buffer.values()[0] == 1.5);
}

TEST("weights: a process that maps the descriptor shares the memory") {
  constexpr std::size_t size = 5000;
  WeightBuffer buffer(size);
  buffer.values()[3] = -2;
  Mapping here(buffer.descriptor(), size);
  CHECK(here.valid());
  CHECK(here[3] == -2);
  here[4] = 8;
  CHECK(buffer.values()[4] == 8);
  const int status = in_child([&] {
    Mapping there(buffer.descriptor(), size);
    if (!there.valid() || there[3] != -2) return 1;
    there[size - 1] = 2.5;
    return 0;
  });
  CHECK(status == 0);
  CHECK(buffer.values()[size - 1] == 2.5);
}

TEST("weights: two buffers share nothing") {
  WeightBuffer first(10);
  WeightBuffer second(10);
  first.values()[2] = 1;
  CHECK(second.values()[2] == 0);
  CHECK(first.descriptor() != second.descriptor());
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
        const AtomicWeights shared{w.data()};
        start.arrive_and_wait();
        for (int round = 0; round < rounds; ++round) shared.add(static_cast<WeightIndex>(round % 3 == 0), 1);
        shared.add(2, shared.read(2) >= 0 ? 1 : 0);
      });
    }
  }
  const int every_third = (rounds + 2) / 3;
  CHECK(w[1] == threads * every_third);
  CHECK(w[0] == threads * (rounds - every_third));
  CHECK(w[2] == threads);
}

TEST("weights: plain, atomic and private weights of scale 1 do the same") {
  constexpr std::size_t dimension = 40;
  constexpr std::size_t hot_size = 13;
  Random random(4);
  std::vector<double> plain = problems::random_vector(dimension, random, problems::uniform);
  std::vector<double> atomic = plain;
  std::vector<double> cold = plain;
  std::vector<double> hot(plain.begin(), plain.begin() + hot_size);
  std::vector<double> changes(hot_size, 0.0);
  const PrivateWeights own{AtomicWeights{cold.data()}, hot, changes, 1.0};
  for (int repeat = 0; repeat < 100; ++repeat) {
    const auto difference = random_difference(dimension, random);
    const double step = problems::uniform(random);
    const auto expected = project(difference, PlainWeights{plain.data()});
    const auto by_atomic = project(difference, AtomicWeights{atomic.data()});
    const auto by_private = project(difference, own);
    CHECK(by_atomic.dot == expected.dot);
    CHECK(by_private.dot == expected.dot);
    CHECK(expected.extra_curvature == 0 && by_atomic.extra_curvature == 0 && by_private.extra_curvature == 0);
    add_scaled(difference, step, PlainWeights{plain.data()});
    add_scaled(difference, step, AtomicWeights{atomic.data()});
    add_scaled(difference, step, own);
  }
  CHECK(problems::same_bits(atomic, plain));
  for (std::size_t k = 0; k < dimension; ++k) CHECK(own.read(static_cast<WeightIndex>(k)) == plain[k]);
  CHECK(own.extra_curvature_bound(3.0) == 0);
}

TEST("weights: private weights move the hot copy by the scale and record unscaled changes") {
  constexpr std::size_t dimension = 30;
  constexpr std::size_t hot_size = 11;
  constexpr double scale = 4;
  Random random(5);
  const std::vector<double> start = problems::random_vector(dimension, random, problems::eighths);
  std::vector<double> shared = start;
  std::vector<double> hot(start.begin(), start.begin() + hot_size);
  std::vector<double> changes(hot_size, 0.0);
  const PrivateWeights own{AtomicWeights{shared.data()}, hot, changes, scale};
  std::vector<double> moved(dimension, 0.0);
  for (int repeat = 0; repeat < 50; ++repeat) {
    auto difference = random_difference(dimension, random);
    double hot_norm = 0;
    double norm = 0;
    for (Entry& entry : difference) {
      entry.value = static_cast<float>(problems::eighths(random));
      moved[entry.index] += 0.5 * entry.value;
      norm += entry.value * entry.value;
      if (entry.index < hot_size) hot_norm += entry.value * entry.value;
    }
    CHECK(project(difference, own).extra_curvature == (scale - 1) * hot_norm);
    CHECK(own.extra_curvature_bound(norm) == (scale - 1) * norm);
    add_scaled(difference, 0.5, own);
  }
  for (std::size_t k = 0; k < dimension; ++k) {
    const bool is_hot = k < hot_size;
    CHECK(shared[k] == start[k] + (is_hot ? 0 : moved[k]));
    CHECK(own.read(static_cast<WeightIndex>(k)) == start[k] + (is_hot ? scale : 1) * moved[k]);
    if (is_hot) CHECK(changes[k] == moved[k]);
  }
}
