// The engine serial with a learner that makes passes by itself: one that is here alone, and uses what the seam brings.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "core/interruption.hpp"
#include "engines/serial.hpp"
#include "label_sets.hpp"
#include "learners/pass_learner.hpp"
#include "problems.hpp"
#include "test.hpp"

using namespace marginloom;

namespace {

constexpr std::size_t rows = 40;
constexpr double C = 0.7;

// Dual coordinate descent on the squared hinge where every example has one wrong output: a <- max(0, a + g / h).
class OneWrongOutput final : public PassLearner {
 public:
  OneWrongOutput(std::shared_ptr<const Task> task, bool averages)
      : PassLearner(
            {task, ExampleNumbers(std::vector<double>(rows, C), task->examples_per_row()), Loss::squared_hinge}),
        averages_(averages),
        duals_(task->size()),
        scratch_(task->make_scratch()) {}

  bool throws = false;  // in the midst of a pass
  int gaps = 0;         // that it was told

  bool averages() const override { return averages_; }
  void note_gap(double, double) override { ++gaps; }
  PassReport pass(const Work& work, const Order& order, std::span<double> mean) override {
    PassReport report;
    auto examples = examples_of(task(), {work.rows.begin(), work.rows.end()});
    if (order.shuffle) Random(order.seed).shuffle(std::span(examples));
    for (const std::size_t i : examples) {
      if (throws && i == examples.back()) throw Interrupted();
      improve(i, work.w);
      ++report.inferences;
    }
    // Far from w, so that it is seen which one counts.
    for (std::size_t k = 0; k < mean.size(); ++k) mean[k] = work.w[k] / 2;
    report.primal_estimate = 1;
    report.dual = 0;
    return report;
  }
  double dual(double squared_norm) const override {
    double result = -squared_norm / 2;
    for (std::size_t i = 0; i < duals_.size(); ++i) result += duals_[i] * loss_[i] - duals_[i] * duals_[i] / (4 * C);
    return result;
  }
  void write_weights(std::span<double> w, int) override {
    std::ranges::fill(w, 0.0);
    for (std::size_t i = 0; i < duals_.size(); ++i) {
      const Candidate wrong = wrong_output(i);
      add_difference(task(), wrong, duals_[i], {w.data()});
    }
  }
  Held held() const override { return {}; }
  StateArrays export_state() const override { return {{"own", duals_}, {"own_losses", loss_}}; }
  void import_state(const StateArrays& state) override {
    duals_ = state_array<double>(state, "own");
    loss_ = state_array<double>(state, "own_losses");
  }

 private:
  Candidate wrong_output(std::size_t i) {
    found_.clear();
    const std::vector<double> none(task().dimension());
    (void)task().find(i, none, {}, *scratch_, found_);
    CHECK(found_.size() == 1);
    return found_[0];
  }
  void improve(std::size_t i, std::span<double> w) {
    const Candidate wrong = wrong_output(i);
    const double ridge = 1 / (2 * C);
    const double gradient = wrong.loss - dot_difference(task(), wrong, w) - ridge * duals_[i];
    const double before = duals_[i];
    duals_[i] = std::max(0.0, before + gradient / (wrong.squared_norm + ridge));
    loss_[i] = wrong.loss;
    add_difference(task(), wrong, duals_[i] - before, {w.data()});
  }

  bool averages_;
  std::vector<double> duals_;
  std::vector<double> loss_ = std::vector<double>(duals_.size());
  std::unique_ptr<Scratch> scratch_;
  CandidateBatch found_;
};

struct Run {
  Random random{1};
  problems::LabelSets sets{rows, 5, 3, random};
  std::shared_ptr<const MultilabelTask> task = sets.task(1);
  std::shared_ptr<OneWrongOutput> learner;
  std::unique_ptr<SerialPasses> engine;

  explicit Run(bool averages = false) : learner(std::make_shared<OneWrongOutput>(task, averages)) {
    std::vector<std::size_t> visited(rows);
    std::iota(visited.begin(), visited.end(), std::size_t{0});
    engine = std::make_unique<SerialPasses>(task, learner, visited, OrderOptions{.seed = 3}, 2);
  }
  void train(int passes) {
    StopRequest never;
    for (int pass = 0; pass < passes; ++pass) CHECK(!engine->run_pass(never).stopped);
  }
  [[nodiscard]] Certificate certificate() {
    StopRequest never;
    return engine->certify(2, never).value();
  }
  [[nodiscard]] std::vector<double> weights() const {
    std::vector<double> result(task->dimension());
    engine->final_weights(result);
    return result;
  }
};

}  // namespace

TEST("serial passes: a learner that knows no certificate is certified by a search of every example") {
  Run run;
  run.train(200);
  const Certificate proof = run.certificate();
  CHECK(proof.complete && proof.proven);
  CHECK(proof.primal >= proof.dual * (1 - 1e-12));
  CHECK(proof.primal <= proof.dual * (1 + 1e-6));
  CHECK(run.engine->weights_are_final());
  CHECK(run.learner->gaps == 201);
}

TEST("serial passes: a mean of the weights is what the model has, and its primal is certified") {
  Run run(true);
  Run plain;
  run.train(100);
  plain.train(100);
  CHECK(!run.engine->weights_are_final());
  const std::vector<double> half = run.weights();
  const std::vector<double> whole = plain.weights();
  for (std::size_t k = 0; k < half.size(); ++k) CHECK_NEAR(half[k], whole[k] / 2, 1e-12);
  CHECK(run.certificate().primal > plain.certificate().primal * 1.01);
  CHECK_NEAR(run.certificate().dual, plain.certificate().dual, 1e-9);
  run.engine->forget_averages();
  CHECK(problems::same_bits(run.weights(), plain.weights()));
}

TEST("serial passes: a run that goes on from its state repeats an uninterrupted one") {
  for (const bool averages : {false, true}) {
    Run whole(averages);
    whole.train(2);
    Run rest(averages);
    rest.engine->import_state(whole.engine->export_state());
    CHECK(problems::same_bits(rest.weights(), whole.weights()));
    whole.train(2);
    rest.train(2);
    CHECK(problems::same_bits(rest.weights(), whole.weights()));
  }
}

TEST("serial passes: a pass that is interrupted has no mean") {
  Run run(true);
  run.train(1);
  run.learner->throws = true;
  StopRequest never;
  CHECK(run.engine->run_pass(never).stopped);
  CHECK(run.engine->weights_are_final());
  CHECK(run.learner->gaps == 1);
}
