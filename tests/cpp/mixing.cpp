// Shards that are learnt apart and mixed.
#include "engines/mixing.hpp"

#include <stdexcept>

#include "failing_task.hpp"
#include "learners/sgd.hpp"
#include "online_engines.hpp"
#include "problems.hpp"
#include "test.hpp"

using marginloom::make_shards;
using marginloom::Mixing;
using marginloom::MixingOptions;
using marginloom::OnlineLearner;
using marginloom::PassReport;
using marginloom::StateArrays;
using marginloom::StopRequest;
using marginloom::Task;
using online_engines::final_weights;
using online_engines::mira;
using online_engines::perceptron;
using online_engines::training_problem;
using problems::Kind;
using problems::Problem;

namespace {

Mixing make_engine(const Problem& problem, const std::shared_ptr<const Task>& task,
                   std::shared_ptr<OnlineLearner> learner, MixingOptions options) {
  options.visits.seed = 4;
  return {task, std::move(learner), make_shards(problem.examples(), 17, true, 4), options};
}

}  // namespace

TEST("mixing: any number of threads gives the same bits, also in the middle of a round") {
  for (const Kind kind : {Kind::values, Kind::dense}) {
    const Problem problem = training_problem(kind);
    const auto task = problem.task();
    for (const std::size_t inner_epochs : {0U, 1U, 3U}) {
      for (const auto make : {perceptron, mira}) {
        std::vector<StateArrays> alone;
        for (const int threads : {1, 2, 3, 16}) {
          Mixing engine =
              make_engine(problem, task, make(task),
                          {.by_errors = inner_epochs == 3, .inner_epochs = inner_epochs, .threads = threads});
          StopRequest never;
          for (std::size_t pass = 0; pass < 4; ++pass) {
            CHECK(engine.run_pass(never).threads.size() == static_cast<std::size_t>(threads));
            if (threads == 1) alone.push_back(engine.export_state());
            CHECK(engine.export_state() == alone[pass]);
          }
        }
      }
    }
  }
}

TEST("mixing: a restored run continues bit for bit, whether or not a round was over") {
  const Problem problem = training_problem(Kind::values);
  const auto task = problem.task();
  for (const std::size_t inner_epochs : {0U, 1U, 3U}) {
    const MixingOptions options{.inner_epochs = inner_epochs, .threads = 2};
    Mixing whole = make_engine(problem, task, perceptron(task), options);
    StopRequest never;
    for (int pass = 0; pass < 4; ++pass) {
      CHECK(!whole.run_pass(never).stopped);
      Mixing resumed = make_engine(problem, task, perceptron(task), options);
      CHECK(!resumed.run_pass(never).stopped);
      resumed.import_state(whole.export_state());
      CHECK(resumed.export_state() == whole.export_state());
      CHECK(problems::same_bits(resumed.weights()->values(), whole.weights()->values()));
      Mixing other = make_engine(problem, task, perceptron(task), options);
      other.import_state(whole.export_state());
      CHECK(other.run_pass(never).wrong == resumed.run_pass(never).wrong);
      CHECK(problems::same_bits(final_weights(other), final_weights(resumed)));
    }
  }
}

TEST("mixing: final weights may be written over the weights themselves") {
  const Problem problem = training_problem(Kind::values);
  const auto task = problem.task();
  for (const std::size_t inner_epochs : {0U, 1U, 3U}) {
    Mixing engine = make_engine(problem, task, perceptron(task), {.inner_epochs = inner_epochs, .threads = 2});
    StopRequest never;
    CHECK(!engine.run_pass(never).stopped);
    const auto expected = final_weights(engine);
    engine.final_weights(engine.weights()->values());
    CHECK(problems::same_bits(engine.weights()->values(), expected));
  }
}

TEST("mixing: a broken state is refused and changes nothing") {
  const Problem problem = training_problem(Kind::values);
  const auto task = problem.task();
  StopRequest never;
  Mixing source = make_engine(problem, task, perceptron(task), {.inner_epochs = 0, .threads = 2});
  CHECK(!source.run_pass(never).stopped);
  const StateArrays good = source.export_state();
  Mixing target = make_engine(problem, task, perceptron(task), {.inner_epochs = 0, .threads = 2});
  const StateArrays before = target.export_state();
  for (const auto& [name, values] : good) {
    StateArrays state = good;
    state.erase(name);
    CHECK_THROWS(std::invalid_argument, target.import_state(state), name);
    CHECK(target.export_state() == before);
  }
  StateArrays state = good;
  auto& blocks = std::get<std::vector<std::uint64_t>>(state["shard_blocks"]);
  std::swap(blocks[0], blocks[1]);
  CHECK_THROWS(std::invalid_argument, target.import_state(state), "shard_blocks");
  CHECK(target.export_state() == before);
}

TEST("mixing: a stop request ends a pass with what was learnt until then") {
  const Problem problem = training_problem(Kind::values);
  const auto task = problem.task();
  for (const int threads : {1, 3}) {
    Mixing engine = make_engine(problem, task, perceptron(task), {.threads = threads});
    bool asked = false;
    StopRequest stop([&] { return asked = true; });
    while (!asked) CHECK(engine.run_pass(stop).stopped == asked);
    StopRequest never;
    CHECK(engine.run_pass(never).inferences == problem.size());
  }
}

TEST("mixing: an exception of any thread reaches the caller, and what was mixed before stays") {
  const Problem problem = training_problem(Kind::values);
  const auto task = std::make_shared<FailingTask>(problem.task());
  const auto healthy = problem.task();
  Mixing engine = make_engine(problem, task, perceptron(task), {.threads = 4});
  Mixing same = make_engine(problem, healthy, perceptron(healthy), {.threads = 4});
  StopRequest never;
  for (const int call : {0, 5, 80}) {
    const auto mixed = final_weights(engine);
    task->fail_at(call);
    CHECK_THROWS(std::runtime_error, engine.run_pass(never), "search failed");
    CHECK(problems::same_bits(final_weights(engine), mixed));
    same.import_state(engine.export_state());
    CHECK(engine.run_pass(never).inferences == problem.size());
    CHECK(same.run_pass(never).inferences == problem.size());
    CHECK(problems::same_bits(final_weights(engine), final_weights(same)));
  }
}

TEST("mixing: learners that shrink their weights are refused") {
  const Problem problem = training_problem(Kind::values);
  const auto task = problem.task();
  const auto sgd =
      std::make_shared<marginloom::Sgd>(task, std::vector<double>(task->size(), 1.0), marginloom::Sgd::Parameters{});
  CHECK_THROWS(std::invalid_argument, make_engine(problem, task, sgd, {}), "cannot be mixed");
  CHECK_THROWS(std::invalid_argument, Mixing(task, perceptron(task), {}, {}), "must be a shard");
}
