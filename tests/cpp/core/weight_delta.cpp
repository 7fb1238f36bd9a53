// Changes of the weights as a value: applied, put together, written and read, by copies that follow.
#include "core/weight_delta.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "core/task.hpp"
#include "problems.hpp"
#include "test.hpp"

using marginloom::ByteView;
using marginloom::Random;
using marginloom::WeightDelta;
using marginloom::WeightIndex;
using problems::Kind;
using problems::Problem;

namespace {

Problem dense_problem() {
  Random random(80);
  return problems::make_problem({.sentences = 6, .longest = 4, .kind = Kind::dense, .start_end = true}, random);
}

// Makes random changes to w, single ones and steps on outputs, and notes them.
void change_some(const Problem& problem, const marginloom::Task& task, Random& random, std::vector<double>& w,
                 WeightDelta& delta) {
  for (std::size_t turn = random.below(6); turn > 0; --turn) {
    for (std::size_t left = random.below(4); left > 0; --left) {
      const auto k = static_cast<WeightIndex>(random.below(w.size()));
      const double change = problems::uniform(random);
      w[k] += change;
      delta.add(k, change);
    }
    const std::size_t i = random.below(problem.size());
    std::vector<std::vector<std::uint8_t>> labels(1 + random.below(3));
    std::vector<ByteView> outputs;
    for (auto& output : labels) {
      for (std::size_t t = 0; t < problem.length(i); ++t) output.push_back(static_cast<std::uint8_t>(random.below(3)));
      outputs.emplace_back(output);
    }
    const auto steps = problems::random_vector(outputs.size(), random, problems::uniform);
    implicit_differences(task).scatter(i, outputs, steps, {w.data()});
    delta.add(i, outputs, steps);
    for (auto& output : labels) std::ranges::fill(output, std::uint8_t{255});  // the delta has its own
  }
}

}  // namespace

TEST("weight_delta: who applies it repeats the same additions to the last bit, single ones and steps on outputs") {
  const Problem problem = dense_problem();
  const auto task = problem.task();
  Random random(81);
  std::vector<double> w = problems::random_vector(task->dimension(), random, problems::uniform);
  std::vector<double> follower = w;
  WeightDelta delta;
  CHECK(delta.empty());
  for (int round = 0; round < 100; ++round) {
    change_some(problem, *task, random, w, delta);
    delta.apply(*task, follower);
    CHECK(problems::same_bits(follower, w));
    delta.clear();
    CHECK(delta.empty());
    delta.apply(*task, follower);
    CHECK(problems::same_bits(follower, w));
  }
}

TEST("weight_delta: appended to another one, it is applied after it") {
  const Problem problem = dense_problem();
  const auto task = problem.task();
  Random random(82);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> w = problems::random_vector(task->dimension(), random, problems::uniform);
    std::vector<double> follower = w;
    WeightDelta all;
    for (std::size_t parts = random.below(5); parts > 0; --parts) {
      WeightDelta part;
      change_some(problem, *task, random, w, part);
      all.append(part);
    }
    all.apply(*task, follower);
    CHECK(problems::same_bits(follower, w));
  }
}

TEST("weight_delta: expanded, it names weights in their order, each once, and needs no example") {
  const Problem problem = dense_problem();
  const auto task = problem.task();
  Random random(83);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> w(task->dimension(), 0.0);
    WeightDelta delta;
    change_some(problem, *task, random, w, delta);
    delta.expand(*task);
    CHECK(std::ranges::adjacent_find(delta.indices(), std::ranges::greater_equal()) == delta.indices().end());
    CHECK(delta.indices().size() == delta.changes().size());
    CHECK(std::ranges::none_of(delta.changes(), [](double change) { return change == 0; }));
    std::vector<double> sums(w.size(), 0.0);
    for (std::size_t k = 0; k < delta.indices().size(); ++k) sums[delta.indices()[k]] = delta.changes()[k];
    for (std::size_t k = 0; k < w.size(); ++k) CHECK_NEAR(sums[k], w[k], 1e-12);
    std::vector<double> applied(w.size(), 0.0);
    delta.apply(*task, applied);
    CHECK(applied == sums);
  }
  WeightDelta single;
  single.add(5, 1);
  single.add(2, 0.5);
  single.add(5, 0.25);
  single.add(7, 1);
  single.add(7, -1);
  single.expand(*task);
  CHECK(std::ranges::equal(single.indices(), std::vector<WeightIndex>{2, 5}));
  CHECK(std::ranges::equal(single.changes(), std::vector<double>{0.5, 1.25}));
}

TEST("weight_delta: expanded, it can be applied times a factor, by parts of the weights") {
  const Problem problem = dense_problem();
  const auto task = problem.task();
  Random random(85);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> changed(task->dimension(), 0.0);
    WeightDelta delta;
    change_some(problem, *task, random, changed, delta);
    delta.expand(*task);
    const double factor = problems::uniform(random);
    std::vector<double> w = problems::random_vector(task->dimension(), random, problems::uniform);
    std::vector<double> expected = w;
    for (std::size_t k = 0; k < delta.indices().size(); ++k) {
      expected[delta.indices()[k]] += factor * delta.changes()[k];
    }
    std::vector<WeightIndex> indices;
    for (std::size_t begin = 0; begin < w.size();) {
      const std::size_t end = begin + random.below(w.size() - begin + 1);
      const auto part = delta.indices(begin, end);
      indices.insert(indices.end(), part.begin(), part.end());
      const std::vector<double> before = w;
      delta.apply_times(factor, begin, end, w);
      for (std::size_t k = 0; k < w.size(); ++k) CHECK(w[k] == (begin <= k && k < end ? expected[k] : before[k]));
      begin = end;
    }
    CHECK(problems::same_bits(w, expected));
    CHECK(std::ranges::equal(indices, delta.indices()));
  }
  const std::vector<std::uint8_t> output(problem.length(0));
  const std::vector<ByteView> outputs{output};
  WeightDelta steps;
  steps.add(0, outputs, std::vector<double>{1});
  std::vector<double> w(task->dimension(), 0.0);
  CHECK_THROWS(std::logic_error, steps.apply_times(1, 0, 1, w), "expanded before a part of it is applied");
}

TEST("weight_delta: bytes round trip once it is expanded") {
  const Problem problem = dense_problem();
  const auto task = problem.task();
  Random random(84);
  for (int round = 0; round < 20; ++round) {
    std::vector<double> w(task->dimension(), 0.0);
    WeightDelta delta;
    change_some(problem, *task, random, w, delta);
    delta.expand(*task);
    const WeightDelta read = WeightDelta::from_bytes(delta.to_bytes(), task->dimension());
    CHECK(std::ranges::equal(read.indices(), delta.indices()));
    CHECK(std::ranges::equal(read.changes(), delta.changes()));
    CHECK(read.empty() == delta.empty());
  }
  const std::vector<std::uint8_t> output(problem.length(0));
  const std::vector<ByteView> outputs{output};
  WeightDelta steps;
  steps.add(0, outputs, std::vector<double>{1});
  CHECK(!steps.empty());
  CHECK_THROWS(std::logic_error, steps.to_bytes(), "expanded before it is written");
}

TEST("weight_delta: bytes that are those of no delta are refused") {
  WeightDelta delta;
  delta.add(3, 0.5);
  delta.add(9, -1);
  auto bytes = delta.to_bytes();
  CHECK(WeightDelta::from_bytes(bytes, 10).indices().size() == 2);
  CHECK_THROWS(std::invalid_argument, WeightDelta::from_bytes(bytes, 9), "a weight that is not there");
  for (const WeightIndex second : {3U, 2U}) {
    WeightDelta unordered;
    unordered.add(3, 0.5);
    unordered.add(second, -1);
    CHECK_THROWS(std::invalid_argument, WeightDelta::from_bytes(unordered.to_bytes(), 10),
                 "not in the order of the weights");
  }
  bytes.push_back(0);
  CHECK_THROWS(std::invalid_argument, WeightDelta::from_bytes(bytes, 10), "not those of a change of weights");
}

TEST("weight_delta: changes that are no numbers are refused") {
  for (const double change : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    WeightDelta delta;
    delta.add(3, change);
    CHECK_THROWS(std::invalid_argument, WeightDelta::from_bytes(delta.to_bytes(), 10), "");
  }
}
