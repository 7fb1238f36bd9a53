// Threads that learn columns alone: the same bits whatever their number, weights and certificates that are what the
// duals say, also after passes that were cut short, and duals within their bounds.
#include "learners/binary_dcd.hpp"

#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "core/random.hpp"
#include "engines/serial.hpp"
#include "label_sets.hpp"
#include "problems.hpp"
#include "test.hpp"

using namespace marginloom;

namespace {

constexpr std::size_t rows = 90;
constexpr std::size_t columns = 20;
constexpr std::size_t labels = 21;
constexpr double C = 3;

std::shared_ptr<BinaryDcd> learner_of(const std::shared_ptr<const MultilabelTask>& task, Loss loss) {
  return std::make_shared<BinaryDcd>(task, ExampleNumbers(std::vector<double>(rows, C), task->examples_per_row()),
                                     BinaryDcd::Parameters{.loss = loss, .inner_passes = 6, .averaged = true});
}

SerialPasses engine_of(const std::shared_ptr<const MultilabelTask>& task, Loss loss, int threads) {
  std::vector<std::size_t> visited(rows);
  std::iota(visited.begin(), visited.end(), std::size_t{0});
  return SerialPasses(task, learner_of(task, loss), visited, {.seed = 3}, threads);
}

struct Kind {
  Loss loss;
  std::size_t per_slack;
};
constexpr Kind kinds[] = {{Loss::hinge, labels}, {Loss::hinge, 8}, {Loss::squared_hinge, 1}};

}  // namespace

TEST("binary-dcd: the same on any number of threads, and at the optimum") {
  for (const auto [loss, per_slack] : kinds) {
    Random random(1);
    const problems::LabelSets sets(rows, columns, labels, random);
    const auto task = sets.task(per_slack);
    StopRequest never;
    std::vector<double> first;
    for (const int threads : {1, 2, 5}) {
      SerialPasses engine = engine_of(task, loss, threads);
      for (int pass = 0; pass < 60; ++pass) CHECK(!engine.run_pass(never).stopped);
      const auto certificate = engine.certify(threads, never);
      CHECK(certificate && certificate->complete);
      CHECK(certificate->primal >= certificate->dual * (1 - 1e-9));
      CHECK(certificate->primal <= certificate->dual * 1.01);
      std::vector<double> weights(task->dimension());
      engine.final_weights(weights);
      if (first.empty()) first = weights;
      CHECK(problems::same_bits(weights, first));
    }
  }
}

TEST("binary-dcd: passes that were cut short hold what their duals say") {
  for (const auto [loss, per_slack] : kinds) {
    Random random(2);
    const problems::LabelSets sets(rows, columns, labels, random);
    for (int asked = 0; asked < 8; ++asked) {
      SerialPasses engine = engine_of(sets.task(per_slack), loss, 2);
      int left = asked;
      StopRequest stop([&] { return left-- <= 0; }, StopRequest::Time(0));
      (void)engine.run_pass(stop);
      const std::vector<double> before(engine.weights()->values().begin(), engine.weights()->values().end());
      StopRequest never;
      const auto certificate = engine.certify(1, never);
      CHECK(certificate->primal >= certificate->dual * (1 - 1e-9) - 1e-9);
      const auto after = engine.weights()->values();
      for (std::size_t k = 0; k < before.size(); ++k) CHECK(std::abs(before[k] - after[k]) < 1e-9);
    }
  }
}

// A certificate that is computed column by column, and one for which every example is searched.
TEST("binary-dcd: the certificate is that of the task's own search, and the dual that of the weights") {
  for (const auto [loss, per_slack] : kinds) {
    Random random(3);
    const problems::LabelSets sets(rows, columns, labels, random);
    const auto task = sets.task(per_slack);
    const auto learner = learner_of(task, loss);
    std::vector<std::size_t> visited(rows);
    std::iota(visited.begin(), visited.end(), std::size_t{0});
    std::vector<double> w(task->dimension());
    std::vector<double> mean(task->dimension());
    StopRequest never;
    const PassLearner::Work work{visited, w, 2, never};
    const PassReport report = learner->pass(work, {.seed = 5, .shuffle = true}, mean);
    const Certificate own = learner->certify(work, mean);
    const Certificate searched = learner->PassLearner::certify(work, mean);
    CHECK_NEAR(own.primal, searched.primal, 1e-9 * own.primal);
    CHECK_NEAR(own.dual, searched.dual, 1e-9 * own.primal);
    CHECK_NEAR(*report.primal_estimate, own.primal, 1e-9 * own.primal);
    CHECK(own.complete && searched.complete && own.proven && searched.proven);
    CHECK(learner->held().candidates == report.active);
  }
}

TEST("binary-dcd: what does not make it binary SVMs is refused") {
  Random random(4);
  const problems::LabelSets sets(rows, columns, labels, random);
  CHECK_THROWS(std::invalid_argument, learner_of(sets.task(8), Loss::squared_hinge),
               "a slack of its own for every decision");
  const auto task = sets.task(1);
  std::vector<double> costs(task->size(), C);
  costs[1] = 2 * C;
  CHECK_THROWS(std::invalid_argument, BinaryDcd(task, ExampleNumbers(costs), {}), "the same weight for all decisions");
  const auto learner = learner_of(task, Loss::hinge);
  std::vector<std::uint64_t> ids(task->size());
  std::iota(ids.begin(), ids.end(), std::uint64_t{7});
  learner->name_examples(ids);
  CHECK_THROWS(std::invalid_argument, (void)learner->export_state(), "all examples, not a part of them");
}
