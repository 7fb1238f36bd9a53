// The budget of working sets: it moves time and memory, and not a bit of the result.
#include <algorithm>
#include <latch>
#include <thread>

#include "engines/serial.hpp"
#include "learners/dcd.hpp"
#include "problems.hpp"
#include "test.hpp"

using marginloom::AtomicWeights;
using marginloom::Dcd;
using marginloom::DualBlocks;
using marginloom::Lane;
using marginloom::PrivateWeights;
using marginloom::Random;
using marginloom::SerialDual;
using marginloom::StopRequest;
using problems::Kind;
using problems::Problem;

namespace {

Problem wide_problem(Kind kind) {
  Random random(50);
  return problems::make_problem(
      {.sentences = 60, .longest = 12, .labels = 5, .features = 40, .kind = kind, .start_end = true}, random);
}

struct Training {
  std::shared_ptr<Dcd> learner;
  std::unique_ptr<SerialDual> engine;
  std::size_t most = 0;  // bytes held after any pass

  Training(const Problem& problem, std::size_t memory, std::uint64_t seed = 1) {
    const auto task = problem.task();
    learner = std::make_shared<Dcd>(task, std::vector<double>(problem.size(), 0.5), Dcd::Parameters{.memory = memory});
    engine = std::make_unique<SerialDual>(task, learner, problem.examples(), marginloom::VisitOptions{.seed = seed});
  }
  void run(int passes) {
    StopRequest never;
    for (int pass = 0; pass < passes; ++pass) {
      const auto report = engine->run_pass(never);
      CHECK(report.working_set_bytes == learner->memory());
      most = std::max(most, learner->memory());
    }
  }
};

}  // namespace

TEST("memory_budget: every budget gives the same bits and the same certificate") {
  StopRequest never;
  for (const Kind kind : {Kind::indicators, Kind::values, Kind::dense}) {
    const Problem problem = wide_problem(kind);
    Training unlimited(problem, DualBlocks::unlimited);
    unlimited.run(15);
    const std::size_t most = unlimited.most;
    const auto proof = unlimited.engine->certify(1, never).value();
    for (const std::size_t budget : {std::size_t{1}, most / 3, most / 2, most * 3 / 4, most - 1}) {
      Training limited(problem, budget);
      limited.run(15);
      const auto same = limited.engine->certify(1, never).value();
      CHECK(same.primal == proof.primal && same.dual == proof.dual);
      CHECK(limited.engine->export_state() == unlimited.engine->export_state());
      CHECK(problems::same_bits(limited.engine->weights()->values(), unlimited.engine->weights()->values()));
    }
  }
}

TEST("memory_budget: the memory held after a pass is within the budget, if dual variables and outputs are") {
  for (const Kind kind : {Kind::indicators, Kind::values}) {
    const Problem problem = wide_problem(kind);
    Training unlimited(problem, DualBlocks::unlimited);
    Training least(problem, 1);
    unlimited.run(15);
    least.run(15);
    CHECK(least.most < unlimited.most * 2 / 3);
    for (const std::size_t budget : {least.most * 9 / 8, (least.most + unlimited.most) / 2, unlimited.most * 9 / 10}) {
      Training limited(problem, budget);
      limited.run(15);
      CHECK(limited.most <= budget);
      CHECK(limited.most > budget * 3 / 4);  // and it is made use of
    }
  }
}

TEST("memory_budget: a state goes on under another budget bit for bit, and its import keeps to the budget") {
  const Problem problem = wide_problem(Kind::values);
  Training whole(problem, DualBlocks::unlimited);
  whole.run(6);
  const auto saved = whole.engine->export_state();
  const std::size_t budget = whole.learner->memory() * 3 / 4;
  Training limited(problem, budget, 99);
  limited.run(2);
  limited.engine->import_state(saved);
  CHECK(limited.learner->memory() <= budget);
  CHECK(limited.engine->export_state() == saved);
  whole.run(6);
  limited.run(6);
  CHECK(limited.engine->export_state() == whole.engine->export_state());
}

TEST("memory_budget: all weight policies work without stored differences, private weights as with them") {
  const Problem problem = wide_problem(Kind::values);
  const auto task = problem.task();
  const std::vector<double> costs(problem.size(), 0.5);
  Dcd stored(task, costs, {});
  Dcd rebuilt(task, costs, {.memory = 1});
  const std::vector<double> zero(task->dimension(), 0.0);
  std::vector<double> cold[2] = {zero, zero};
  std::vector<double> hot[2] = {std::vector<double>(24), std::vector<double>(24)};
  std::vector<double> changes[2] = {std::vector<double>(24), std::vector<double>(24)};
  Lane lanes[2] = {{Random(5)}, {Random(5)}};
  const auto scratch = task->make_scratch();
  for (std::size_t i = 0; i < problem.size(); ++i) {
    marginloom::FunctionSink sink([&](const marginloom::Candidate& candidate) {
      stored.absorb(candidate);
      rebuilt.absorb(candidate);
    });
    task->find(i, zero, {}, *scratch, sink);
    const PrivateWeights first{AtomicWeights{cold[0].data()}, hot[0], changes[0], 3.0};
    const PrivateWeights second{AtomicWeights{cold[1].data()}, hot[1], changes[1], 3.0};
    CHECK(stored.improve(i, first, lanes[0]) == rebuilt.improve(i, second, lanes[1]));
  }
  CHECK(problems::same_bits(cold[0], cold[1]) && problems::same_bits(hot[0], hot[1]));
  CHECK(stored.export_state() == rebuilt.export_state());
  CHECK(rebuilt.memory() < stored.memory());
}

TEST("memory_budget: threads that improve disjoint examples count what they hold together") {
  constexpr std::size_t threads = 4;
  const Problem problem = wide_problem(Kind::indicators);
  const auto task = problem.task();
  Training plain(problem, DualBlocks::unlimited);
  plain.run(3);
  const std::size_t budget = plain.learner->memory() * 2 / 3;
  Dcd learner(task, std::vector<double>(problem.size(), 0.5), {.memory = budget});
  std::vector<double> w(task->dimension(), 0.0);
  for (int pass = 0; pass < 3; ++pass) {
    const std::vector<double> found_with = w;
    std::latch start(threads);
    std::vector<std::jthread> team;
    for (std::size_t thread = 0; thread < threads; ++thread) {
      team.emplace_back([&, thread] {
        Lane lane{Random(thread)};
        const auto scratch = task->make_scratch();
        marginloom::FunctionSink sink([&](const auto& candidate) { learner.absorb(candidate); });
        start.arrive_and_wait();
        for (std::size_t i = thread; i < problem.size(); i += threads) {
          task->find(i, found_with, {}, *scratch, sink);
          for (int round = 0; round < 5; ++round) learner.improve(i, AtomicWeights{w.data()}, lane);
        }
      });
    }
  }
  Lane lane{Random(0)};
  learner.end_pass(marginloom::PlainWeights{w.data()}, lane);
  CHECK(learner.memory() <= budget);
  std::vector<double> written(w.size(), 0.0);
  learner.write_weights(written);
  for (std::size_t k = 0; k < w.size(); ++k) CHECK_NEAR(w[k], written[k], 1e-10);
}

TEST("memory_budget: what blocks count is what their working sets hold") {
  const Problem problem = wide_problem(Kind::values);
  const auto task = problem.task();
  const std::vector<double> zero(task->dimension(), 0.0);
  const auto scratch = task->make_scratch();
  Random random(51);
  DualBlocks blocks(task, 20000);
  const auto check = [&] {
    std::size_t sum = blocks.size() * sizeof(marginloom::WorkingSet);
    for (std::size_t i = 0; i < blocks.size(); ++i) sum += blocks[i].memory();
    CHECK(blocks.memory() == sum);
  };
  bool over = false;
  for (int round = 0; round < 20; ++round) {
    const auto w = problems::random_vector(task->dimension(), random, problems::uniform);
    marginloom::FunctionSink sink([&](const auto& candidate) { blocks.absorb(candidate); });
    for (std::size_t i = 0; i < problem.size(); ++i) task->find(i, w, {}, *scratch, sink);
    check();
    over |= blocks.memory() > 20000;
    for (std::size_t i = 0; i < problem.size(); ++i) {
      for (auto& member : blocks[i].members()) member.dual = static_cast<double>(random.below(2));
      if (round % 4 == 3) blocks.drop_zero_duals(i);
    }
    check();
    blocks.trim();
    check();
  }
  CHECK(over);
}
