// A request to stop that comes within a search ends the pass there, in every engine and on whichever of its threads,
// with the report of what was done; training can go on.
#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/interruption.hpp"
#include "engines/decoupled.hpp"
#include "engines/master_worker.hpp"
#include "engines/minibatch.hpp"
#include "engines/mixing.hpp"
#include "engines/serial.hpp"
#include "engines/shards.hpp"
#include "engines/shared.hpp"
#include "failing_task.hpp"
#include "learners/dcd.hpp"
#include "learners/sgd.hpp"
#include "online_engines.hpp"
#include "problems.hpp"
#include "test.hpp"

using namespace marginloom;

namespace {

using Examples = std::vector<std::size_t>;
using SharedTask = std::shared_ptr<const Task>;
using MakeEngine = std::function<std::unique_ptr<Engine>(SharedTask, Examples)>;

constexpr int call = 40;  // of the searches of a pass over 90 sentences

std::shared_ptr<BlockLearner> dcd(const SharedTask& task) {
  return std::make_shared<Dcd>(task, std::vector<double>(task->size(), 0.1), Dcd::Parameters{});
}

const std::vector<MakeEngine>& dual_engines() {
  static const std::vector<MakeEngine> all{
      [](SharedTask task, Examples examples) {
        return std::make_unique<SerialDual>(task, dcd(task), std::move(examples), OrderOptions{.seed = 1});
      },
      [](SharedTask task, Examples examples) {
        return std::make_unique<MasterWorker>(task, dcd(task), std::move(examples), OrderOptions{.seed = 1},
                                              MasterWorkerOptions{.threads = 3});
      },
      [](SharedTask task, Examples examples) {
        return std::make_unique<MasterWorker>(task, dcd(task), std::move(examples), OrderOptions{.seed = 1},
                                              MasterWorkerOptions{.threads = 3, .rounds = 6, .learners = 2});
      },
      [](SharedTask task, Examples examples) {
        return std::make_unique<Decoupled>(task, dcd(task), std::move(examples), OrderOptions{.seed = 1},
                                           DecoupledOptions{.threads = 3});
      },
      [](SharedTask task, Examples examples) {
        return std::make_unique<Decoupled>(task, dcd(task), std::move(examples), OrderOptions{.seed = 1},
                                           DecoupledOptions{.threads = 4, .learners = 2});
      },
      [](SharedTask task, Examples examples) {
        return std::make_unique<Shared>(task, dcd(task), std::move(examples), OrderOptions{.seed = 1},
                                        SharedOptions{.threads = 3});
      },
  };
  return all;
}

const std::vector<MakeEngine>& online_engines_of_all_kinds() {
  static const std::vector<MakeEngine> all{
      [](SharedTask task, Examples examples) {
        return std::make_unique<SerialOnline>(task, online_engines::perceptron(task), std::move(examples),
                                              OrderOptions{.seed = 1});
      },
      [](SharedTask task, Examples examples) {
        MinibatchOptions options{.batch_size = 8, .threads = 3};
        return std::make_unique<Minibatch>(task, online_engines::mira(task), std::move(examples), options);
      },
      [](SharedTask task, Examples examples) {
        Examples first(examples.begin(), examples.begin() + 45);
        Examples second(examples.begin() + 45, examples.end());
        MixingOptions options{.threads = 2};
        return std::make_unique<Mixing>(task, online_engines::perceptron(task),
                                        std::vector<Examples>{std::move(first), std::move(second)}, options);
      },
  };
  return all;
}

// Runs a pass in which one search does not end until it is stopped; the owner wants that from its beginning on.
PassReport interrupted_pass(FailingTask& task, Engine& engine, int at = call) {
  std::atomic<bool> wanted{false};
  StopRequest stop([&] { return wanted.load(); }, StopRequest::Time(0));
  task.do_at(at, [&] {
    wanted = true;
    for (;;) count_steps(1 << 20);
  });
  return engine.run_pass(stop);
}

void check_ends(const MakeEngine& make) {
  const auto problem = online_engines::training_problem(problems::Kind::indicators);
  const auto task = std::make_shared<FailingTask>(problem.task());
  const auto engine = make(task, problem.examples());
  StopRequest never;
  CHECK(!engine->run_pass(never).stopped);
  const PassReport report = interrupted_pass(*task, *engine);
  CHECK(report.stopped);
  CHECK(report.inferences < problem.size());
  for (int pass = 0; pass < 40; ++pass) CHECK(engine->run_pass(never).inferences > 0);
  const auto certificate = engine->certify(2, never);
  if (!certificate) return;
  CHECK((certificate->primal - certificate->dual) / certificate->primal < 0.02);
  CHECK((certificate->primal - certificate->dual) / certificate->primal > -1e-9);
}

}  // namespace

TEST("interrupted searches: every dual engine ends the pass, and reaches the optimum later") {
  for (const MakeEngine& make : dual_engines()) check_ends(make);
}

TEST("interrupted searches: every online engine ends the pass and goes on") {
  for (const MakeEngine& make : online_engines_of_all_kinds()) check_ends(make);
}

TEST("interrupted searches: what was done before counts") {
  const auto problem = online_engines::training_problem(problems::Kind::indicators);
  const auto task = std::make_shared<FailingTask>(problem.task());
  for (const MakeEngine& make : {dual_engines().front(), online_engines_of_all_kinds().front()}) {
    const auto engine = make(task, problem.examples());
    const PassReport report = interrupted_pass(*task, *engine);
    CHECK(report.inferences == call);
    CHECK(report.updates > 0);
  }
}

TEST("interrupted searches: SGD is stopped while it looks for the size of its steps") {
  const auto problem = online_engines::training_problem(problems::Kind::indicators);
  const auto task = std::make_shared<FailingTask>(problem.task());
  const auto sgd = std::make_shared<Sgd>(task, std::vector<double>(task->size(), 1.0), Sgd::Parameters{});
  SerialOnline engine(task, sgd, problem.examples(), {.seed = 1});
  const PassReport report = interrupted_pass(*task, engine);
  CHECK(report.stopped);
  CHECK(report.inferences == 0);
  StopRequest never;
  CHECK(engine.run_pass(never).inferences == problem.size());
}

TEST("interrupted searches: a certificate that was stopped is not complete, on any thread") {
  const auto problem = online_engines::training_problem(problems::Kind::indicators);
  for (const int threads : {1, 3}) {
    const auto task = std::make_shared<FailingTask>(problem.task());
    SerialDual engine(task, dcd(task), problem.examples(), {.seed = 1});
    StopRequest never;
    CHECK(!engine.run_pass(never).stopped);
    std::atomic<bool> wanted{false};
    StopRequest stop([&] { return wanted.load(); }, StopRequest::Time(0));
    task->do_at(call, [&] {
      wanted = true;
      for (;;) count_steps(1 << 20);
    });
    const auto certificate = engine.certify(threads, stop);
    CHECK(certificate && !certificate->complete);
    CHECK(engine.certify(threads, never)->complete);
  }
}
