// Dual learners on weights that all threads share.
#include "engines/shared.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "engines/serial.hpp"
#include "learners/dcd.hpp"
#include "learners/fsmo.hpp"
#include "problems.hpp"
#include "test.hpp"

using marginloom::BlockLearner;
using marginloom::Dcd;
using marginloom::Fsmo;
using marginloom::Loss;
using marginloom::Random;
using marginloom::SerialDual;
using marginloom::Shared;
using marginloom::SharedOptions;
using marginloom::StopRequest;
using problems::Kind;
using problems::Problem;

namespace {

constexpr double cost = 0.1;

Problem training_problem(std::uint64_t seed, std::size_t sentences = 30, Kind kind = Kind::values) {
  Random random(seed);
  return problems::make_problem({.sentences = sentences, .longest = 5, .features = 15, .kind = kind}, random);
}

using SharedTask = std::shared_ptr<const marginloom::Task>;

std::shared_ptr<Fsmo> fsmo(const SharedTask& task, Fsmo::Parameters parameters = {}) {
  return std::make_shared<Fsmo>(task, std::vector<double>(task->size(), cost), parameters);
}

std::shared_ptr<Dcd> dcd(const SharedTask& task, Loss loss) {
  return std::make_shared<Dcd>(task, std::vector<double>(task->size(), cost), Dcd::Parameters{.loss = loss});
}

// Examples with one wrong output each, all with the same difference: w = 1 solves them, so a step that is right for one
// thread is as many times too long as there are threads that have not seen each other's.
class Alike final : public marginloom::Task, public marginloom::ImplicitDifferences {
 public:
  class NoScratch final : public marginloom::Scratch {};

  std::size_t size() const override { return 64; }
  std::size_t dimension() const override { return 1; }
  marginloom::Capabilities capabilities() const override { return {}; }
  const marginloom::ImplicitDifferences* implicit() const override { return this; }
  std::unique_ptr<marginloom::Scratch> make_scratch() const override { return std::make_unique<NoScratch>(); }
  void predict(std::size_t, marginloom::WeightView, int, marginloom::Scratch&,
               std::vector<marginloom::Output>&) const override {}
  double find(std::size_t i, marginloom::WeightView w, const marginloom::FindOptions& options,
              marginloom::Scratch& scratch, marginloom::CandidateSink& sink) const override {
    const double violation = 1 - marginloom::read_weight(w, 0);
    if (violation >= options.min_violation) (void)candidate(i, {}, scratch, sink);
    return std::max(violation, 0.0);
  }
  bool candidate(std::size_t i, marginloom::ByteView, marginloom::Scratch&,
                 marginloom::CandidateSink& sink) const override {
    sink.accept(
        {.example = i, .loss = 1, .squared_norm = 1, .key = 1, .output = {}, .difference = {}, .implicit = true});
    return true;
  }
  void gather(std::size_t, std::span<const marginloom::ByteView>, marginloom::WeightView w,
              std::span<double> values) const override {
    std::ranges::fill(values, marginloom::read_weight(w, 0));
    for (int turn = 0; turn < 100; ++turn) std::this_thread::yield();  // others read the same
  }
  void scatter(std::size_t, std::span<const marginloom::ByteView>, std::span<const double> steps,
               const marginloom::WeightWriter& w) const override {
    for (const double step : steps) w.add(0, step);
  }
  void products(std::size_t, marginloom::ByteView, std::span<const marginloom::ByteView>, marginloom::Scratch&,
                std::span<double> result) const override {
    std::ranges::fill(result, 1.0);
  }
};

double gap_after(marginloom::DualEngine& engine, int passes) {
  StopRequest never;
  double gap = 1;
  for (int pass = 0; pass < passes && gap > 0.002; ++pass) {
    const auto report = engine.run_pass(never);
    CHECK(!report.stopped);
    if (pass % 5 != 4) continue;
    const auto certificate = engine.certify(1, never);
    gap = (certificate->primal - certificate->dual) / certificate->primal;
    CHECK(gap >= -1e-9);
  }
  return gap;
}

}  // namespace

TEST("shared: reaches the certified optimum with random delays between a search and its step") {
  for (const Kind kind : {Kind::values, Kind::dense}) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const Problem problem = training_problem(seed, 25, kind);
      const auto task = problem.task();
      std::atomic<std::uint64_t> calls{seed};
      SharedOptions options;
      options.threads = 2 + static_cast<int>(seed % 4);
      options.at_example = [&] {
        Random random(calls.fetch_add(1));
        for (std::uint64_t turn = random.below(20); turn > 0; --turn) std::this_thread::yield();
      };
      Shared with_fsmo(
          task, fsmo(task, {.batch = 1 + seed % 3 * 10, .scope = seed % 4 > 1 ? Fsmo::Scope::all : Fsmo::Scope::batch}),
          problem.examples(), {.seed = seed}, options);
      CHECK(gap_after(with_fsmo, 600) <= 0.002);
      for (const Loss loss : {Loss::squared_hinge, Loss::hinge}) {
        Shared with_dcd(task, dcd(task, loss), problem.examples(), {.seed = seed}, options);
        CHECK(gap_after(with_dcd, 600) <= 0.002);
      }
    }
  }
}

TEST("shared: after a pass of 16 threads the weights are those of the duals") {
  const Problem problem = training_problem(4, 200);
  const auto task = problem.task();
  for (const auto& learner : std::vector<std::shared_ptr<BlockLearner>>{fsmo(task), dcd(task, Loss::squared_hinge)}) {
    SharedOptions options;
    options.threads = 16;
    Shared engine(task, learner, problem.examples(), {.seed = 1}, options);
    StopRequest never;
    std::vector<double> expected(task->dimension());
    std::size_t updates = 0;
    for (int pass = 0; pass < 20; ++pass) {
      const auto report = engine.run_pass(never);
      CHECK(report.inferences == problem.size());
      CHECK(report.threads.size() == 16);
      updates += report.updates;
      learner->write_weights(expected);
      const auto w = engine.weights()->values();
      for (std::size_t k = 0; k < w.size(); ++k) CHECK_NEAR(w[k], expected[k], 1e-10);
    }
    CHECK(updates > 0);
  }
}

TEST("shared: one thread makes the steps of the serial engine, to the bit") {
  const Problem problem = training_problem(2, 60);
  const auto task = problem.task();
  const marginloom::OrderOptions in_order{.seed = 1, .shuffle = false};
  SerialDual serial(task, dcd(task, Loss::hinge), problem.examples(), in_order);
  Shared shared(task, dcd(task, Loss::hinge), problem.examples(), in_order, {});
  StopRequest never;
  for (int pass = 0; pass < 10; ++pass) {
    const auto expected = serial.run_pass(never);
    const auto found = shared.run_pass(never);
    CHECK(found.updates == expected.updates);
    CHECK(found.found == expected.found);
    CHECK(found.wrong == expected.wrong);
    CHECK(*found.dual == *expected.dual);
    CHECK(*found.primal_estimate == *expected.primal_estimate);
    CHECK(found.training_loss == expected.training_loss);
    CHECK(problems::same_bits(serial.weights()->values(), shared.weights()->values()));
    CHECK(shared.damping() == 1);
  }
}

TEST("shared: steps that overshoot together become shorter, and the dual does not fall") {
  const auto task = std::make_shared<const Alike>();
  SharedOptions options;
  options.threads = 8;
  std::vector<std::size_t> examples(task->size());
  std::iota(examples.begin(), examples.end(), std::size_t{0});
  const auto make_engine = [&] {
    const auto learner = std::make_shared<Dcd>(task, std::vector<double>(task->size(), 1.0),
                                               Dcd::Parameters{.loss = Loss::hinge, .inner_passes = 0});
    return std::make_unique<Shared>(task, learner, examples, marginloom::OrderOptions{.seed = 1}, options);
  };
  StopRequest never;
  double most = 1;
  for (int again = 0; again < 100 && most == 1; ++again) {  // without a second core steps may not meet
    const auto engine = make_engine();
    double dual = 0;
    for (int pass = 0; pass < 20; ++pass) {
      const auto report = engine->run_pass(never);
      CHECK(!report.stopped);
      CHECK(*report.dual >= dual - 1e-9);
      dual = *report.dual;
      most = std::max(most, engine->damping());
    }
    CHECK_NEAR(dual, 0.5, 1e-9);
  }
  CHECK(most > 1);
  CHECK(most <= options.threads);
}

TEST("shared: the others take what a thread that was put aside has not come to") {
  const Problem problem = training_problem(8, 200);
  const std::size_t examples = problem.examples().size();
  std::atomic<std::size_t> visits{0};
  std::atomic<bool> aside{false};
  std::atomic<bool> alone{false};
  const auto caller = std::this_thread::get_id();
  SharedOptions options;
  options.threads = 2;
  const auto wait_until = [](auto holds) {  // or so long that something is wrong
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (!holds() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  };
  options.at_example = [&] {
    ++visits;
    if (std::this_thread::get_id() == caller) return wait_until([&] { return aside.load(); });
    if (aside.exchange(true)) return;
    wait_until([&] { return visits >= 3 * examples / 4; });
    alone = visits >= 3 * examples / 4;
  };
  Shared engine(problem.task(), dcd(problem.task(), Loss::hinge), problem.examples(), {.seed = 1}, options);
  StopRequest never;
  engine.run_pass(never);
  CHECK(aside && alone && visits == examples);
}

TEST("shared: more threads than examples, and none at all") {
  const Problem problem = training_problem(7, 3);
  const auto task = problem.task();
  SharedOptions options;
  options.threads = 16;
  StopRequest never;
  Shared few(task, fsmo(task), problem.examples(), {}, options);
  CHECK(few.run_pass(never).threads.size() == 3);
  Shared none(task, fsmo(task), {}, {}, options);
  CHECK(none.run_pass(never).inferences == 0);
}

TEST("shared: stopping and exceptions end all threads, and the engine can go on") {
  const Problem problem = training_problem(6);
  const auto task = problem.task();
  std::atomic<bool> fail{false};
  SharedOptions options;
  options.threads = 4;
  options.at_example = [&] {
    if (fail.exchange(false)) throw std::runtime_error("a thread failed");
  };
  const auto learner = fsmo(task);
  Shared engine(task, learner, problem.examples(), {.seed = 1}, options);
  StopRequest never;
  CHECK(!engine.run_pass(never).stopped);
  fail = true;
  CHECK_THROWS(std::runtime_error, engine.run_pass(never), "a thread failed");
  StopRequest stop([] { return true; });
  while (!stop.stopped()) {
  }
  CHECK(engine.run_pass(stop).stopped);
  std::vector<double> expected(task->dimension());
  learner->write_weights(expected);
  const auto w = engine.weights()->values();
  for (std::size_t k = 0; k < w.size(); ++k) CHECK_NEAR(w[k], expected[k], 1e-10);
  CHECK(!engine.run_pass(never).stopped);
  CHECK(gap_after(engine, 600) <= 0.002);
}
