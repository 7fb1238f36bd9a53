// The pipeline makes the steps of one thread: whatever the threads, the same duals up to rounding, and weights that are
// what the duals say, also after passes that were cut short.
#include "engines/pipelined.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "core/random.hpp"
#include "engines/serial.hpp"
#include "learners/dcd.hpp"
#include "learners/frank_wolfe.hpp"
#include "learners/fsmo.hpp"
#include "learners/one_slack.hpp"
#include "problems.hpp"
#include "tasks/multiclass/multiclass.hpp"
#include "tasks/multilabel/multilabel.hpp"
#include "test.hpp"

using namespace marginloom;

namespace {

// Classes with a column of their own each, noise, an empty row and equal rows; and sets of such classes.
struct Classes {
  static constexpr std::size_t rows = 150, columns = 30;
  std::size_t classes;
  bool dense;
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint32_t> indices;
  std::vector<double> values;
  std::vector<ClassIndex> gold;
  std::vector<std::uint8_t> sets;

  Classes(std::size_t classes, bool dense, Random& random) : classes(classes), dense(dense) {
    for (std::size_t i = 0; i < rows; ++i) {
      gold.push_back(static_cast<ClassIndex>(random.below(classes)));
      for (std::size_t f = 0; f < columns; ++f) {
        double value = random.below(3) == 0 ? problems::uniform(random) : 0;
        if (f == gold[i] % columns) value += 0.5;
        if (i == 3) value = 0;
        if (!dense && value == 0) continue;
        indices.push_back(static_cast<std::uint32_t>(f));
        values.push_back(value);
      }
      offsets.push_back(indices.size());
      sets.resize((i + 1) * label_set_bytes(classes));
      const auto set = std::span(sets).last(label_set_bytes(classes));
      put_label(set, gold[i], true);
      put_label(set, random.below(classes), true);
    }
  }
  [[nodiscard]] std::shared_ptr<const MulticlassTask> task(double bias = 0) const {
    return std::make_shared<const MulticlassTask>(inputs(bias), gold, classes, std::vector<double>{});
  }
  [[nodiscard]] std::shared_ptr<const MultilabelTask> label_task(MultilabelOptions options = {}) const {
    return std::make_shared<const MultilabelTask>(inputs(0.5), sets, classes, std::move(options));
  }
  [[nodiscard]] InputData inputs(double bias) const {
    InputData data;
    data.row_count = rows;
    data.column_count = columns;
    data.dense = dense;
    data.offsets = offsets;
    data.columns = indices;
    data.doubles = values;
    data.bias = bias;
    return data;
  }
};

std::shared_ptr<BlockLearner> learner(const std::shared_ptr<const Task>& task, Loss loss) {
  Dcd::Parameters parameters;
  parameters.loss = loss;
  parameters.inner_passes = 4;
  parameters.shrinking = 0.01;
  parameters.rest = 3;
  return std::make_shared<Dcd>(task, std::vector<double>(task->size(), 0.3), parameters);
}

std::vector<std::size_t> everything(const Task& task) {
  std::vector<std::size_t> examples(task.size());
  std::iota(examples.begin(), examples.end(), std::size_t{0});
  return examples;
}

double distance_from_duals(const DualEngine& engine, BlockLearner& learner) {
  const auto w = engine.weights()->values();
  std::vector<double> expected(w.size());
  learner.write_weights(expected);
  double result = 0;
  for (std::size_t k = 0; k < w.size(); ++k) result = std::max(result, std::abs(w[k] - expected[k]));
  return result;
}

}  // namespace

namespace {

constexpr std::array numbers_of_threads{3, 4, 7};

// And one number of threads, if it is not 0, goes on to the optimum, to a gap that so many passes reach.
void check_steps_of_one_thread(const std::shared_ptr<const Task>& task, Loss loss, int until_optimum, int passes,
                               double gap) {
  for (const int threads : numbers_of_threads) {
    const auto alone = learner(task, loss), together = learner(task, loss);
    SerialDual serial(task, alone, everything(*task), {});
    Pipelined pipelined(task, together, everything(*task), {}, threads, 0);
    StopRequest stop;
    for (int pass = 0; pass < 3; ++pass) {
      const auto expected = serial.run_pass(stop), found = pipelined.run_pass(stop);
      CHECK(found.inferences == expected.inferences && found.found == expected.found);
      CHECK(found.threads.size() == static_cast<std::size_t>(threads));
      CHECK_NEAR(*found.dual, *expected.dual, 1e-5 * *expected.dual);
      CHECK_NEAR(distance_from_duals(pipelined, *together), 0, 1e-12);
    }
    if (threads != until_optimum) continue;
    for (int pass = 0; pass < passes; ++pass) (void)pipelined.run_pass(stop);
    CHECK_NEAR(distance_from_duals(pipelined, *together), 0, 1e-12);
    const auto proof = pipelined.certify(1, stop);
    CHECK(proof->primal - proof->dual <= gap * proof->primal);
  }
}

}  // namespace

TEST("pipelined: the steps of one thread, and weights that are what the duals say") {
  Random random(1);
  std::size_t problem = 0;
  for (const bool dense : {false, true}) {
    for (const std::size_t classes : {2U, 5U, 19U}) {
      for (const Loss loss : {Loss::hinge, Loss::squared_hinge}) {
        const Classes data(classes, dense, random);
        const int threads = numbers_of_threads[problem % 3];
        const int others = problem % 4 == 0 ? numbers_of_threads[(problem / 4 + 1) % 3] : 0;  // sets take many passes
        check_steps_of_one_thread(data.task(dense ? 0.5 : 0), loss, threads, 40, 1e-3);
        check_steps_of_one_thread(data.label_task(), loss, others, 100, 0.01);
        ++problem;
      }
    }
  }
}

TEST("pipelined: two runs agree to the bit") {
  Random random(2);
  const Classes data(6, false, random);
  std::vector<std::vector<double>> results;
  for (int run = 0; run < 2; ++run) {
    const auto task = data.task();
    Pipelined engine(task, learner(task, Loss::hinge), everything(*task), {}, 6, 3);
    StopRequest stop;
    for (int pass = 0; pass < 5; ++pass) (void)engine.run_pass(stop);
    const auto w = engine.weights()->values();
    results.emplace_back(w.begin(), w.end());
  }
  CHECK(problems::same_bits(results[0], results[1]));
}

TEST("pipelined: a stop and an exception leave weights that are what the duals say") {
  Random random(3);
  const Classes data(6, false, random);
  const auto task = data.task();
  const auto dcd = learner(task, Loss::hinge);
  Pipelined engine(task, dcd, everything(*task), {}, 4, 0);
  StopRequest at_once([] { return true; });
  StopRequest never;
  while (!at_once.stopped()) {
  }
  (void)engine.run_pass(never);
  CHECK(engine.run_pass(at_once).stopped);
  CHECK_NEAR(distance_from_duals(engine, *dcd), 0, 1e-12);

  Team team(4);
  std::vector<double> weights(task->dimension());
  ScorePipeline pipeline(*task->product_form(), weights, team, 2);
  std::vector<ThreadTime> times(4);
  const auto order = everything(*task);
  for (const std::size_t last : {0U, 31U, 32U, 70U, 149U}) {
    std::ranges::fill(weights, 0.0);
    std::vector<double> expected(weights.size());
    const auto step = [&](std::size_t j, const double*, ScoreSteps& steps) {
      if (j == last) throw std::runtime_error("no more");
      steps.add(j % 6, 0.25);
      std::vector<double> change(task->stride());
      change[j % 6] = 0.25;
      task->product_form()->inputs.add_to_rows(order[j], change.data(), task->stride(), expected.data());
    };
    CHECK_THROWS(std::runtime_error, pipeline.run(order, step, times, never), "no more");
    for (std::size_t k = 0; k < weights.size(); ++k) CHECK_NEAR(weights[k], expected[k], 1e-12);
  }
}

TEST("pipelined: every visit sees the scores that the visits before it have led to") {
  Random random(4);
  for (const bool dense : {false, true}) {
    const Classes data(6, dense, random);
    const auto task = data.task(0.25);
    const std::size_t stride = task->stride();
    for (const int threads : {3, 5, 9}) {
      Team team(threads);
      std::vector<double> weights(task->dimension()), expected(task->dimension());
      ScorePipeline pipeline(*task->product_form(), weights, team, static_cast<std::size_t>(threads) / 2);
      std::vector<ThreadTime> times(static_cast<std::size_t>(threads));
      StopRequest never;
      for (const std::size_t count : {0U, 1U, 31U, 32U, 33U, 64U, 150U}) {
        auto order = everything(*task);
        random.shuffle(std::span(order));
        order.resize(count);
        std::size_t visits = 0;
        const auto step = [&](std::size_t j, const double* found, ScoreSteps& steps) {
          CHECK(j == visits++);
          std::vector<double> scores(stride), change(stride);
          task->product_form()->inputs.scores(order[j], expected.data(), stride, scores.data());
          for (std::size_t c = 0; c < 6; ++c) CHECK_NEAR(found[c], scores[c], 1e-5);
          for (const std::size_t c : {j % 6, j % 5}) {
            const double value = problems::uniform(random) / 8;
            steps.add(c, value);
            change[c] += value;
          }
          task->product_form()->inputs.add_to_rows(order[j], change.data(), stride, expected.data());
        };
        CHECK(pipeline.run(order, step, times, never));
        CHECK(visits == count);
        for (std::size_t k = 0; k < weights.size(); ++k) CHECK_NEAR(weights[k], expected[k], 1e-12);
      }
    }
  }
}

TEST("pipelined: what it cannot drive is refused") {
  Random random(5);
  const Classes data(3, false, random);
  const auto task = data.task();
  const auto examples = everything(*task);
  CHECK_THROWS(std::invalid_argument, Pipelined(task, learner(task, Loss::hinge), examples, {}, 2, 0), "three threads");
  Random sentences(6);
  const auto tagging = problems::make_problem({}, sentences);
  const auto tags = tagging.task();
  CHECK_THROWS(std::invalid_argument, Pipelined(tags, learner(tags, Loss::hinge), tagging.examples(), {}, 3, 0),
               "products of input and output");
  const auto pairs = data.label_task({.pairs = {{0, 1}}});
  CHECK_THROWS(std::invalid_argument, Pipelined(pairs, learner(pairs, Loss::hinge), examples, {}, 3, 0),
               "products of input and output");
}

TEST("pipelined: learners that do more than single visits of blocks are refused") {
  Random random(5);
  const Classes data(3, false, random);
  const auto task = data.task();
  const auto examples = everything(*task);
  const std::vector<double> costs(task->size(), 0.3);
  const auto fsmo = std::make_shared<Fsmo>(task, costs, Fsmo::Parameters{});
  CHECK_THROWS(std::invalid_argument, Pipelined(task, fsmo, examples, {}, 3, 0), "from its scores");
  const auto frank_wolfe = std::make_shared<FrankWolfe>(task, costs, FrankWolfe::Parameters{});
  CHECK_THROWS(std::invalid_argument, Pipelined(task, frank_wolfe, examples, {}, 3, 0), "from its scores");
  const auto one_slack = std::make_shared<OneSlack>(task, costs, OneSlack::Parameters{});
  CHECK_THROWS(std::invalid_argument, Pipelined(task, one_slack, examples, {}, 3, 0), "from its scores");
}
