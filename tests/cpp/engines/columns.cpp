// Threads that learn columns alone: the same bits whatever their number, weights and certificates that are what the
// duals say, also after passes that were cut short, and duals within their bounds.
#include "engines/columns.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "core/random.hpp"
#include "learners/dcd.hpp"
#include "problems.hpp"
#include "tasks/multilabel/multilabel.hpp"
#include "test.hpp"

using namespace marginloom;

namespace {

constexpr std::size_t rows = 90;
constexpr std::size_t columns = 20;
constexpr std::size_t labels = 21;
constexpr double C = 3;

// Sets of labels that follow single features, with noise and an empty row.
struct Sets {
  std::vector<double> values = std::vector<double>(rows * columns);
  std::vector<std::uint8_t> gold;
  std::size_t per_slack;

  Sets(std::size_t per_slack, Random& random) : gold(rows * label_set_bytes(labels)), per_slack(per_slack) {
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t f = 0; f < columns && i != 4; ++f) values[i * columns + f] = problems::uniform(random);
      for (std::size_t l = 0; l < labels; ++l) {
        const bool yes = values[i * columns + l % columns] > 0.3 || random.below(10) == 0;
        put_label(std::span(gold).subspan(i * label_set_bytes(labels)), l, yes);
      }
    }
  }
  [[nodiscard]] std::shared_ptr<const MultilabelTask> task() const {
    InputData data;
    data.row_count = rows;
    data.column_count = columns;
    data.dense = true;
    data.doubles = values;
    data.bias = 1;
    return std::make_shared<const MultilabelTask>(data, gold, labels, MultilabelOptions{.labels_per_slack = per_slack});
  }
};

Columns engine_of(const std::shared_ptr<const MultilabelTask>& task, Loss loss, int threads) {
  Dcd::Parameters parameters;
  parameters.loss = loss;
  parameters.inner_passes = 6;
  parameters.averaged = true;
  parameters.memory = 0;
  std::vector<std::size_t> visited(rows);
  std::iota(visited.begin(), visited.end(), std::size_t{0});
  auto learner =
      std::make_shared<Dcd>(task, ExampleNumbers(std::vector<double>(rows, C), task->examples_per_row()), parameters);
  return Columns(task, std::move(learner), visited, {.seed = 3}, threads);
}

struct Kind {
  Loss loss;
  std::size_t per_slack;
};
constexpr Kind kinds[] = {{Loss::hinge, labels}, {Loss::hinge, 8}, {Loss::squared_hinge, 1}};

}  // namespace

TEST("columns: the same on any number of threads, and at the optimum") {
  for (const auto [loss, per_slack] : kinds) {
    Random random(1);
    const Sets sets(per_slack, random);
    const auto task = sets.task();
    StopRequest never;
    std::vector<double> first;
    for (const int threads : {1, 2, 5}) {
      Columns engine = engine_of(task, loss, threads);
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

TEST("columns: passes that were cut short hold what their duals say") {
  for (const auto [loss, per_slack] : kinds) {
    Random random(2);
    const Sets sets(per_slack, random);
    for (int asked = 0; asked < 8; ++asked) {
      Columns engine = engine_of(sets.task(), loss, 2);
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
