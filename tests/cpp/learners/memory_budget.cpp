// The budget of blocks: it moves time and memory, and not a bit of the result.
#include <algorithm>
#include <latch>
#include <thread>

#include "engines/serial.hpp"
#include "learners/dcd.hpp"
#include "problems.hpp"
#include "test.hpp"
#include "visits.hpp"

using marginloom::Block;
using marginloom::Blocks;
using marginloom::Dcd;
using marginloom::Random;
using marginloom::SerialDual;
using marginloom::StopRequest;
using marginloom::Visit;
using marginloom::WeightWriter;
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
    engine = std::make_unique<SerialDual>(task, learner, problem.examples(), marginloom::OrderOptions{.seed = seed});
  }
  void run(int passes) {
    StopRequest never;
    for (int pass = 0; pass < passes; ++pass) {
      const auto report = engine->run_pass(never);
      CHECK(report.working_set_bytes == learner->held().bytes);
      most = std::max(most, learner->held().bytes);
    }
  }
};

}  // namespace

TEST("memory_budget: every budget gives the same bits and the same certificate") {
  StopRequest never;
  for (const Kind kind : {Kind::indicators, Kind::values, Kind::dense}) {
    const Problem problem = wide_problem(kind);
    Training unlimited(problem, Blocks::unlimited);
    unlimited.run(8);
    const std::size_t most = unlimited.most;
    const auto proof = unlimited.engine->certify(1, never).value();
    for (const std::size_t budget : {std::size_t{1}, most / 2, most - 1}) {
      Training limited(problem, budget);
      limited.run(8);
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
    Training unlimited(problem, Blocks::unlimited);
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
  Training whole(problem, Blocks::unlimited);
  whole.run(6);
  const auto saved = whole.engine->export_state();
  const std::size_t budget = whole.learner->held().bytes * 3 / 4;
  Training limited(problem, budget, 99);
  limited.run(2);
  limited.engine->import_state(saved);
  CHECK(limited.learner->held().bytes <= budget);
  CHECK(limited.engine->export_state() == saved);
  whole.run(6);
  limited.run(6);
  CHECK(limited.engine->export_state() == whole.engine->export_state());
}

TEST("memory_budget: a visit of a block that does without its rows is that of one that has them, to the bit") {
  for (const Kind kind : {Kind::values, Kind::dense}) {
    for (const marginloom::Loss loss : {marginloom::Loss::squared_hinge, marginloom::Loss::hinge}) {
      const Problem problem = wide_problem(kind);
      const auto task = problem.task();
      const std::vector<double> costs(problem.size(), 0.5);
      Dcd stored(task, costs, {.loss = loss});
      Dcd rebuilt(task, costs, {.loss = loss, .memory = 1});
      const std::vector<double> zero(task->dimension(), 0.0);
      std::vector<double> weights[2] = {zero, zero};
      Visit pair[2] = {visits::seeded(5, 3), visits::seeded(5, 3)};
      const auto scratch = task->make_scratch();
      for (int round = 0; round < 4; ++round) {
        const auto searched_with = weights[0];
        for (std::size_t i = 0; i < problem.size(); ++i) {
          marginloom::FunctionSink sink([&](const marginloom::Candidate& candidate) {
            stored.absorb(candidate, pair[0].scratch);
            rebuilt.absorb(candidate, pair[1].scratch);
          });
          task->find(i, searched_with, {}, *scratch, sink);
          const auto first = stored.visit(i, weights[0], WeightWriter{weights[0].data(), true}, pair[0], true);
          const auto second = rebuilt.visit(i, weights[1], WeightWriter{weights[1].data(), true}, pair[1], true);
          CHECK(first.gain == second.gain && first.updates == second.updates && first.residual == second.residual);
          CHECK(!rebuilt.blocks()[i].has_support() && !rebuilt.blocks()[i].has_products());
        }
      }
      CHECK(problems::same_bits(weights[0], weights[1]));
      CHECK(stored.export_state() == rebuilt.export_state());
      CHECK(rebuilt.held().bytes < stored.held().bytes);
    }
  }
}

TEST("memory_budget: threads that improve disjoint examples count what they hold together") {
  constexpr std::size_t threads = 4;
  const Problem problem = wide_problem(Kind::indicators);
  const auto task = problem.task();
  Training plain(problem, Blocks::unlimited);
  plain.run(3);
  const std::size_t budget = plain.learner->held().bytes * 2 / 3;
  Dcd learner(task, std::vector<double>(problem.size(), 0.5), {.memory = budget});
  std::vector<double> w(task->dimension(), 0.0);
  for (int pass = 0; pass < 3; ++pass) {
    const std::vector<double> found_with = w;
    std::latch start(threads);
    std::vector<std::jthread> team;
    for (std::size_t thread = 0; thread < threads; ++thread) {
      team.emplace_back([&, thread] {
        Visit visit = visits::seeded(thread);
        const auto scratch = task->make_scratch();
        marginloom::FunctionSink sink([&](const auto& candidate) { learner.absorb(candidate, visit.scratch); });
        start.arrive_and_wait();
        for (std::size_t i = thread; i < problem.size(); i += threads) {
          task->find(i, found_with, {}, *scratch, sink);
          for (int round = 0; round < 5; ++round) learner.visit(i, w, WeightWriter{w.data(), true}, visit, true);
        }
      });
    }
  }
  Visit visit;
  StopRequest never;
  learner.end_pass(w, visit, never);
  CHECK(learner.held().bytes <= budget);
  std::vector<double> written(w.size(), 0.0);
  learner.write_weights(written);
  for (std::size_t k = 0; k < w.size(); ++k) CHECK_NEAR(w[k], written[k], 1e-10);
}

TEST("memory_budget: what blocks count is what each of them holds") {
  const Problem problem = wide_problem(Kind::values);
  const auto task = problem.task();
  const std::vector<double> zero(task->dimension(), 0.0);
  const auto scratch = task->make_scratch();
  Random random(51);
  Blocks blocks(task, 20000, false);
  Visit visit;
  const auto check = [&] {
    std::size_t sum = blocks.size() * sizeof(Block);
    std::size_t candidates = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      sum += blocks[i].memory();
      candidates += blocks[i].size();
    }
    CHECK(blocks.memory() == sum);
    CHECK(blocks.active() == candidates);
  };
  bool over = false;
  for (int round = 0; round < 20; ++round) {
    const auto w = problems::random_vector(task->dimension(), random, problems::uniform);
    marginloom::FunctionSink sink([&](const auto& candidate) { blocks.absorb(candidate, visit.scratch); });
    for (std::size_t i = 0; i < problem.size(); ++i) task->find(i, w, {}, *scratch, sink);
    check();
    over |= blocks.memory() > 20000;
    for (std::size_t i = 0; i < problem.size(); ++i) {
      for (auto& row : blocks[i].rows()) row.dual = static_cast<double>(random.below(2));
      if (round % 4 == 3) blocks.drop_zero_duals(i);
    }
    check();
    blocks.trim();
    check();
  }
  CHECK(over);
}

TEST("memory_budget: any number of threads writes the same weights to the bit, under any budget") {
  for (const Kind kind : {Kind::values, Kind::dense}) {
    const Problem problem = wide_problem(kind);
    for (const std::size_t budget : {Blocks::unlimited, std::size_t{20000}}) {
      Training training(problem, budget);
      training.run(4);
      std::vector<double> expected(problem.task()->dimension(), 7.0);
      training.learner->write_weights(expected);
      CHECK(std::ranges::any_of(expected, [](double weight) { return weight != 0; }));
      for (const int threads : {2, 3, 16}) {
        std::vector<double> found(expected.size(), -7.0);
        training.learner->write_weights(found, threads);
        CHECK(problems::same_bits(found, expected));
      }
    }
  }
  const Problem problem = wide_problem(Kind::values);
  Training untrained(problem, Blocks::unlimited);
  std::vector<double> w(problem.task()->dimension(), 1.0);
  untrained.learner->write_weights(w, 4);
  CHECK(std::ranges::all_of(w, [](double weight) { return weight == 0; }));
}
