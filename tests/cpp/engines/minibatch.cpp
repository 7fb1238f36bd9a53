// Batches: the same bits as one thread and, for batches of one, as the serial engine.
#include "engines/minibatch.hpp"

#include <stdexcept>

#include "engines/serial.hpp"
#include "failing_task.hpp"
#include "online_engines.hpp"
#include "problems.hpp"
#include "test.hpp"

using marginloom::Minibatch;
using marginloom::PassReport;
using marginloom::SerialOnline;
using marginloom::StopRequest;
using online_engines::final_weights;
using online_engines::mira;
using online_engines::perceptron;
using online_engines::training_problem;
using problems::Kind;
using problems::Problem;

TEST("minibatch: any number of threads gives the same bits") {
  for (const Kind kind : {Kind::values, Kind::dense}) {
    const Problem problem = training_problem(kind);
    const auto task = problem.task();
    for (const auto make : {perceptron, mira}) {
      std::vector<double> alone;
      for (const int threads : {1, 2, 3, 16}) {
        Minibatch engine(task, make(task), problem.examples(),
                         {.order = {.seed = 3}, .batch_size = 18, .threads = threads});
        StopRequest never;
        for (int pass = 0; pass < 4; ++pass) {
          const PassReport report = engine.run_pass(never);
          CHECK(report.inferences == problem.size());
          CHECK(report.threads.size() == static_cast<std::size_t>(threads));
        }
        if (threads == 1) alone = final_weights(engine);
        CHECK(problems::same_bits(final_weights(engine), alone));
      }
    }
  }
}

TEST("minibatch: batches of one are the serial engine to the bit") {
  const Problem problem = training_problem(Kind::values);
  const auto task = problem.task();
  for (const auto make : {perceptron, mira}) {
    Minibatch batches(task, make(task), problem.examples(), {.order = {.seed = 3}, .batch_size = 1, .threads = 2});
    SerialOnline serial(task, make(task), problem.examples(), {.seed = 3});
    StopRequest never;
    for (int pass = 0; pass < 4; ++pass) {
      CHECK(batches.run_pass(never).updates == serial.run_pass(never).updates);
      CHECK(problems::same_bits(final_weights(batches), final_weights(serial)));
      CHECK(batches.export_state() == serial.export_state());
    }
  }
}

TEST("minibatch: a stop request ends a pass between two batches") {
  const Problem problem = training_problem(Kind::values);
  const auto task = problem.task();
  Minibatch engine(task, perceptron(task), problem.examples(), {.batch_size = 4, .threads = 3});
  bool asked = false;
  StopRequest stop([&] { return asked = true; });
  std::size_t inferences = 0;
  while (!asked) {
    const PassReport report = engine.run_pass(stop);
    CHECK(report.stopped == asked);
    inferences = report.inferences;
  }
  CHECK(inferences % 4 == 0);
  CHECK(inferences < problem.size());
}

TEST("minibatch: an exception of any thread reaches the caller, and the engine can go on") {
  const Problem problem = training_problem(Kind::values);
  const auto task = std::make_shared<FailingTask>(problem.task());
  Minibatch engine(task, perceptron(task), problem.examples(), {.batch_size = 16, .threads = 4});
  StopRequest never;
  for (const int call : {0, 5, 60}) {
    task->fail_at(call);
    CHECK_THROWS(std::runtime_error, engine.run_pass(never), "search failed");
    CHECK(engine.run_pass(never).inferences == problem.size());
  }
}
