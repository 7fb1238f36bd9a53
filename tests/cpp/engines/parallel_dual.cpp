// Dual learners on several threads: master-worker and decoupled engines, and what the latter hands over with.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "engines/block_queue.hpp"
#include "engines/decoupled.hpp"
#include "engines/master_worker.hpp"
#include "engines/serial.hpp"
#include "engines/snapshots.hpp"
#include "failing_task.hpp"
#include "learners/dcd.hpp"
#include "learners/frank_wolfe.hpp"
#include "learners/one_slack.hpp"
#include "problems.hpp"
#include "test.hpp"

using marginloom::BlockBatch;
using marginloom::BlockQueue;
using marginloom::Dcd;
using marginloom::Decoupled;
using marginloom::DecoupledOptions;
using marginloom::DualEngine;
using marginloom::Loss;
using marginloom::MasterWorker;
using marginloom::OrderOptions;
using marginloom::Random;
using marginloom::Snapshots;
using marginloom::StopRequest;
using problems::Kind;
using problems::Problem;

namespace {

Problem training_problem(std::uint64_t seed, std::size_t sentences = 30, Kind kind = Kind::values) {
  Random random(seed);
  return problems::make_problem({.sentences = sentences, .longest = 5, .features = 15, .kind = kind}, random);
}

std::shared_ptr<Dcd> make_learner(const std::shared_ptr<const marginloom::Task>& task, Loss loss) {
  return std::make_shared<Dcd>(task, std::vector<double>(task->size(), 0.1), Dcd::Parameters{.loss = loss});
}

double gap_after(DualEngine& engine, int passes) {
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

// Adds to a weight and notes that for those who follow.
void add_one(std::vector<double>& w, Snapshots& snapshots, marginloom::WeightIndex k, double change) {
  w[k] += change;
  snapshots.delta().add(k, change);
}

}  // namespace

TEST("master_worker: the same bits whatever the number of threads") {
  for (const Loss loss : {Loss::squared_hinge, Loss::hinge}) {
    for (const std::size_t rounds : {1U, 4U, 1000U}) {
      const Problem problem = training_problem(1);
      const auto task = problem.task();
      std::vector<double> expected;
      for (const int threads : {1, 2, 5}) {
        MasterWorker engine(task, make_learner(task, loss), problem.examples(), {.seed = 3},
                            {.threads = threads, .rounds = rounds});
        StopRequest never;
        for (int pass = 0; pass < 6; ++pass) {
          const auto report = engine.run_pass(never);
          CHECK(report.threads.size() == static_cast<std::size_t>(threads));
          CHECK(report.inferences == problem.size());
        }
        const auto w = engine.weights()->values();
        if (expected.empty()) expected.assign(w.begin(), w.end());
        CHECK(problems::same_bits(expected, w));
      }
    }
  }
}

TEST("master_worker: as many rounds as examples are the serial engine, to the bit") {
  const Problem problem = training_problem(1);
  const auto task = problem.task();
  const OrderOptions order{.seed = 3};
  marginloom::SerialDual serial(task, make_learner(task, Loss::hinge), problem.examples(), order);
  MasterWorker engine(task, make_learner(task, Loss::hinge), problem.examples(), order,
                      {.threads = 2, .rounds = problem.size()});
  StopRequest never;
  for (int pass = 0; pass < 5; ++pass) {
    CHECK(engine.run_pass(never).dual == serial.run_pass(never).dual);
    CHECK(engine.export_state() == serial.export_state());
  }
}

TEST("master_worker: a pass without examples has nothing to do") {
  const Problem problem = training_problem(1);
  const auto task = problem.task();
  for (const int learners : {1, 2}) {
    MasterWorker engine(task, make_learner(task, Loss::hinge), {}, {},
                        {.threads = 2, .rounds = 5, .learners = learners});
    StopRequest never;
    const auto report = engine.run_pass(never);
    CHECK(!report.stopped && report.inferences == 0);
  }
}

TEST("master_worker: reaches the certified optimum, also with Frank-Wolfe") {
  const Problem problem = training_problem(2);
  const auto task = problem.task();
  MasterWorker dcd(task, make_learner(task, Loss::squared_hinge), problem.examples(), {.seed = 1},
                   {.threads = 3, .rounds = 3});
  CHECK(gap_after(dcd, 400) <= 0.002);
  const auto frank_wolfe = std::make_shared<marginloom::FrankWolfe>(task, std::vector<double>(task->size(), 0.1),
                                                                    marginloom::FrankWolfe::Parameters{});
  MasterWorker engine(task, frank_wolfe, problem.examples(), {.seed = 1}, {.threads = 3});
  CHECK(gap_after(engine, 4000) <= 0.002);
}

TEST("master_worker: several learners reach the certified optimum, and the dual never falls") {
  for (const Kind kind : {Kind::values, Kind::dense}) {
    for (const int learners : {2, 3, 16}) {
      for (const Loss loss : {Loss::squared_hinge, Loss::hinge}) {
        const Problem problem = training_problem(3, 40, kind);
        const auto task = problem.task();
        const auto learner = make_learner(task, loss);
        MasterWorker engine(task, learner, problem.examples(), {.seed = 1},
                            {.threads = 3, .rounds = 4, .learners = learners});
        std::vector<double> expected(task->dimension());
        StopRequest never;
        double dual = 0;
        for (int pass = 0; pass < 20; ++pass) {
          const auto report = engine.run_pass(never);
          CHECK(report.inferences == problem.size());
          CHECK(report.threads.size() == static_cast<std::size_t>(std::max(learners, 3)));
          CHECK(*report.dual >= dual - 1e-9);
          dual = *report.dual;
          learner->write_weights(expected);
          const auto w = engine.weights()->values();
          for (std::size_t k = 0; k < w.size(); ++k) CHECK_NEAR(w[k], expected[k], 1e-10);
        }
        CHECK(gap_after(engine, 600) <= 0.002);
      }
    }
  }
}

TEST("master_worker: several learners are stopped and fail together, and can go on") {
  const Problem problem = training_problem(6, 60);
  const auto task = std::make_shared<FailingTask>(problem.task());
  MasterWorker engine(task, make_learner(task, Loss::squared_hinge), problem.examples(), {.seed = 1},
                      {.threads = 3, .rounds = 4, .learners = 2});
  StopRequest never;
  CHECK(!engine.run_pass(never).stopped);
  for (const int call : {0, 20, 59}) {
    task->fail_at(call);
    CHECK_THROWS(std::runtime_error, engine.run_pass(never), "search failed");
    std::atomic<bool> wanted{false};
    StopRequest stop([&] { return wanted.load(); }, StopRequest::Time(0));
    task->do_at(call, [&] { wanted = true; });
    CHECK(engine.run_pass(stop).stopped);
    CHECK(engine.run_pass(never).inferences == problem.size());
  }
  CHECK(gap_after(engine, 600) <= 0.002);
}

TEST("master_worker: several learners are refused where steps concern more than one block") {
  const Problem problem = training_problem(2);
  const auto task = problem.task();
  const auto frank_wolfe = std::make_shared<marginloom::FrankWolfe>(task, std::vector<double>(task->size(), 0.1),
                                                                    marginloom::FrankWolfe::Parameters{});
  CHECK_THROWS(std::invalid_argument, MasterWorker(task, frank_wolfe, problem.examples(), {}, {.learners = 2}),
               "cannot be made by several threads");
}

TEST("decoupled: reaches the certified optimum with random delays where threads meet") {
  for (const Loss loss : {Loss::squared_hinge, Loss::hinge}) {
    for (const Kind kind : {Kind::values, Kind::dense}) {
      for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const Problem problem = training_problem(seed, 20, kind);
        const auto task = problem.task();
        std::atomic<std::uint64_t> calls{seed};
        DecoupledOptions options;
        options.threads = 2 + static_cast<int>(seed % 4);
        options.learners = 1 + static_cast<int>(seed % 3);  // at most so many that one thread searches
        options.rho_updates = 1 + 7 * seed;
        options.rho_inferences = 1 + seed % 3;
        options.at_meeting = [&] {
          Random random(calls.fetch_add(1));
          for (std::uint64_t turn = random.below(20); turn > 0; --turn) std::this_thread::yield();
        };
        Decoupled engine(task, make_learner(task, loss), problem.examples(), {.seed = seed}, options);
        CHECK(gap_after(engine, 600) <= 0.002);
      }
    }
  }
}

TEST("decoupled: every example is searched once in a pass, by 16 threads on any number of cores") {
  const Problem problem = training_problem(4, 200);
  const auto task = problem.task();
  for (const int learners : {1, 4, 15}) {
    DecoupledOptions options;
    options.threads = 16;
    options.learners = learners;
    Decoupled engine(task, make_learner(task, Loss::squared_hinge), problem.examples(), {.seed = 1}, options);
    StopRequest never;
    double dual = 0;
    for (int pass = 0; pass < 20; ++pass) {
      const auto report = engine.run_pass(never);
      CHECK(report.inferences == problem.size());
      CHECK(report.threads.size() == 16);
      CHECK(report.accepted <= report.found);
      CHECK(report.weights_age >= 0);
      if (learners == 1) continue;
      CHECK(report.weights_age == 0);
      CHECK(*report.dual >= dual - 1e-9);
      dual = *report.dual;
    }
  }
}

TEST("decoupled: a learner that has nothing to do does not keep searches on old weights") {
  const Problem problem = training_problem(5);
  const auto task = problem.task();
  DecoupledOptions options;
  options.rho_updates = 50;  // more than the updates of some passes
  Decoupled engine(task, make_learner(task, Loss::hinge), problem.examples(), {.seed = 1}, options);
  CHECK(gap_after(engine, 600) <= 0.002);
}

TEST("decoupled: stopping and exceptions end all threads, and the engine can go on") {
  const Problem problem = training_problem(6);
  const auto task = problem.task();
  std::atomic<bool> fail{false};
  for (const int learners : {1, 2}) {
    DecoupledOptions options;
    options.threads = 4;
    options.learners = learners;
    fail = false;
    options.rho_updates = 1;  // so that there is a hand-over even if the learner searches every example itself
    options.at_meeting = [&] {
      if (fail.exchange(false)) throw std::runtime_error("a thread failed");
    };
    Decoupled engine(task, make_learner(task, Loss::squared_hinge), problem.examples(), {.seed = 1}, options);
    StopRequest never;
    CHECK(!engine.run_pass(never).stopped);
    fail = true;
    CHECK_THROWS(std::runtime_error, engine.run_pass(never), "a thread failed");
    StopRequest stop([] { return true; });
    while (!stop.stopped()) {
    }
    CHECK(engine.run_pass(stop).stopped);
    CHECK(!engine.run_pass(never).stopped);
    CHECK(gap_after(engine, 600) <= 0.002);
  }
}

TEST("decoupled: a search that fails leaves every example its own duals") {
  const Problem problem = training_problem(6, 60);
  for (std::size_t call = 150; call < 400; call += 7) {  // in the third pass or later: mails have been used before
    const auto task = std::make_shared<FailingTask>(problem.task());
    const DecoupledOptions options{.threads = 4, .learners = 1 + static_cast<int>(call % 2)};
    Decoupled engine(task, make_learner(task, Loss::squared_hinge), problem.examples(), {.seed = call}, options);
    StopRequest never;
    task->fail_at(call);
    bool failed = false;
    for (int pass = 0; pass < 10 && !failed; ++pass) {
      try {
        engine.run_pass(never);
      } catch (const std::runtime_error&) {
        failed = true;
      }
    }
    CHECK(failed);
    const auto w = engine.weights()->values();
    const std::vector<double> before(w.begin(), w.end());
    CHECK(engine.certify(1, never).has_value());  // recomputes the weights from the duals
    for (std::size_t k = 0; k < w.size(); ++k) CHECK(std::abs(w[k] - before[k]) < 1e-9);
  }
}

TEST("decoupled: after every pass the weights are what the duals say") {
  const Problem problem = training_problem(9, 200);
  for (const int threads : {2, 4, 8}) {
    for (const Loss loss : {Loss::squared_hinge, Loss::hinge}) {
      const auto learner = make_learner(problem.task(), loss);
      const DecoupledOptions options{.threads = threads, .learners = threads / 2};
      Decoupled engine(problem.task(), learner, problem.examples(), {.seed = 1}, options);
      std::vector<double> expected(problem.task()->dimension());
      StopRequest never;
      for (int pass = 0; pass < 10; ++pass) {
        engine.run_pass(never);
        learner->write_weights(expected);
        const auto w = engine.weights()->values();
        for (std::size_t k = 0; k < w.size(); ++k) CHECK(std::abs(w[k] - expected[k]) < 1e-11);
      }
    }
  }
}

TEST("decoupled: learners whose steps concern more than one block are refused") {
  const Problem problem = training_problem(2);
  const auto task = problem.task();
  const std::vector<double> costs(task->size(), 0.1);
  const std::vector<std::shared_ptr<marginloom::BlockLearner>> others{
      std::make_shared<marginloom::FrankWolfe>(task, costs, marginloom::FrankWolfe::Parameters{}),
      std::make_shared<marginloom::OneSlack>(task, costs, marginloom::OneSlack::Parameters{})};
  for (const auto& learner : others) {
    CHECK_THROWS(std::invalid_argument, Decoupled(task, learner, problem.examples(), {}, {}),
                 "cannot be decoupled from inference");
  }
}

TEST("snapshots: a reader keeps what it pinned while newer weights are published") {
  const auto task = training_problem(7).task();
  std::vector<double> w(task->dimension(), 0.0);
  Snapshots snapshots(task, 2);
  const auto publish = [&](marginloom::WeightIndex k, double change, std::uint64_t version) {
    add_one(w, snapshots, k, change);
    snapshots.publish(version);
  };
  publish(4, 1, 1);
  auto first = snapshots.pin();
  CHECK(first.weights()[4] == 1 && first.version() == 1);
  publish(4, 1, 2);
  auto second = snapshots.pin();
  CHECK(second.weights()[4] == 2 && second.version() == 2);
  publish(5, 3, 3);
  auto third = snapshots.pin();  // both copies are being read: no newer weights without waiting
  CHECK(third.version() == 2);
  CHECK(first.weights()[4] == 1 && first.weights()[5] == 0);
  first = {};
  const auto fourth = snapshots.pin();
  CHECK(fourth.version() == 3);
  CHECK(problems::same_bits(fourth.weights(), w));  // also what that copy had missed before
}

TEST("snapshots: copies have the bits of the weights, whatever changed when, one reader or several") {
  const auto task = training_problem(8).task();
  for (const std::size_t readers : {1, 2}) {
    Random random(9);
    std::vector<double> w(task->dimension(), 0.0);
    Snapshots snapshots(task, readers);
    Snapshots::Pin pin;
    for (std::uint64_t version = 1; version < 500; ++version) {
      for (std::uint64_t change = random.below(5); change > 0; --change) {
        add_one(w, snapshots, static_cast<marginloom::WeightIndex>(random.below(w.size())),
                1.0 / static_cast<double>(version));
      }
      snapshots.publish(version);
      if (random.below(3) == 0) continue;
      pin = {};
      pin = snapshots.pin();
      CHECK(problems::same_bits(pin.weights(), w));
      if (version % 100 == 0) {
        pin = {};
        w.assign(w.size(), 0.5);
        add_one(w, snapshots, 0, 1);  // whatever was noted, a reset takes the weights
        snapshots.reset(w, version);
      }
    }
  }
}

TEST("block_queue: nothing is lost and the order of a sender is kept, with many senders at once") {
  constexpr std::size_t senders = 5;
  constexpr std::size_t each = 300;
  BlockQueue queue(senders, 2);
  for (int round = 0; round < 2; ++round) {
    queue.open();
    std::vector<std::jthread> threads;
    for (std::size_t sender = 0; sender < senders; ++sender) {
      threads.emplace_back([&queue, sender] {
        for (std::size_t k = 0; k < each; ++k) {
          BlockBatch* batch = queue.take_empty(sender);
          batch->clear();
          batch->add().found.example = k;
          queue.send(batch);
        }
      });
    }
    std::vector<std::size_t> next(senders, 0);
    for (std::size_t received = 0; received < senders * each;) {
      const auto [batch, next_batch] = queue.receive();
      CHECK(batch || !next_batch);
      if (!batch) {
        queue.wait();
        continue;
      }
      CHECK(batch->items().size() == 1 && batch->items()[0].found.example == next[batch->sender()]);
      ++next[batch->sender()];
      ++received;
      queue.give_back(batch);
    }
    threads.clear();
    CHECK(queue.receive().batch == nullptr);
  }
  queue.close();
  CHECK(queue.take_empty(0) == nullptr);
}
