// Shards that are learnt apart and mixed.
#include "engines/mixing.hpp"

#include <limits>
#include <stdexcept>
#include <utility>

#include "failing_task.hpp"
#include "learners/sgd.hpp"
#include "online_engines.hpp"
#include "problems.hpp"
#include "test.hpp"

using marginloom::make_shards;
using marginloom::Mixing;
using marginloom::MixingOptions;
using marginloom::MixingShares;
using marginloom::OnlineLearner;
using marginloom::PassReport;
using marginloom::StateArrays;
using marginloom::StopRequest;
using marginloom::Task;
using marginloom::WeightDelta;
using marginloom::WeightIndex;
using online_engines::final_weights;
using online_engines::mira;
using online_engines::perceptron;
using online_engines::training_problem;
using problems::Kind;
using problems::Problem;

namespace {

Mixing make_engine(const Problem& problem, const std::shared_ptr<const Task>& task,
                   std::shared_ptr<OnlineLearner> learner, MixingOptions options) {
  options.order.seed = 4;
  return {task, std::move(learner), make_shards(problem.examples(), 17, true, 4), options};
}

// The state with another delta of the weights for the first shard.
StateArrays with_first_delta(StateArrays state, const std::vector<std::pair<WeightIndex, double>>& changes) {
  WeightDelta delta;
  for (const auto& [index, change] : changes) delta.add(index, change);
  const auto bytes = delta.to_bytes();
  auto& deltas = std::get<std::vector<std::uint8_t>>(state["shard_deltas"]);
  auto& size = std::get<std::vector<std::uint64_t>>(state["shard_progress"])[0];
  deltas.erase(deltas.begin(), deltas.begin() + static_cast<std::ptrdiff_t>(size));
  deltas.insert(deltas.begin(), bytes.begin(), bytes.end());
  size = bytes.size();
  return state;
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
          Mixing engine = make_engine(problem, task, make(task),
                                      {.mixing = inner_epochs == 3 ? MixingShares::errors : MixingShares::uniform,
                                       .inner_epochs = inner_epochs,
                                       .threads = threads});
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

TEST("mixing: weights that a shard brings back to where they were are mixed as such") {
  const Problem problem = training_problem(Kind::indicators);  // steps are whole numbers
  const auto task = problem.task();
  Mixing engine(task, perceptron(task), {problem.examples()}, {.inner_epochs = 0});
  StopRequest never;
  std::size_t brought_back = 0;
  std::vector<double> before(task->dimension(), 0.0);
  for (int pass = 0; pass < 6; ++pass) {
    CHECK(!engine.run_pass(never).stopped);
    Mixing fresh(task, perceptron(task), {problem.examples()}, {.inner_epochs = 0});
    fresh.import_state(engine.export_state());
    const auto weights = fresh.weights()->values();
    CHECK(problems::same_bits(engine.weights()->values(), weights));
    for (std::size_t k = 0; k < before.size(); ++k) brought_back += before[k] != 0 && weights[k] == 0 ? 1 : 0;
    before.assign(weights.begin(), weights.end());
  }
  CHECK(brought_back > 0);
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
  const auto refuses = [&](const StateArrays& state, const char* why) {
    CHECK_THROWS(std::invalid_argument, target.import_state(state), why);
    CHECK(target.export_state() == before);
  };
  StateArrays state = good;
  auto& deltas = std::get<std::vector<std::uint8_t>>(state["shard_deltas"]);
  deltas.pop_back();
  refuses(state, "'shard_deltas' are too short");
  deltas.insert(deltas.end(), 2, 0);
  refuses(state, "'shard_deltas' are too long");
  state = good;
  std::get<std::vector<std::uint64_t>>(state["shard_progress"])[0] += 1;
  refuses(state, "'shard_deltas' do not fit: these bytes are not those");
  std::get<std::vector<std::uint64_t>>(state["shard_progress"])[0] = ~std::uint64_t{0};
  refuses(state, "'shard_deltas' are too short");
  std::get<std::vector<std::uint64_t>>(state["shard_progress"]).pop_back();
  refuses(state, "give that number of shards");
  refuses(with_first_delta(good, {{5, 1}, {2, 1}}), "not in the order of the weights");
  refuses(with_first_delta(good, {{~WeightIndex{0}, 1}}), "a weight that is not there");
  refuses(with_first_delta(good, {{2, std::numeric_limits<double>::infinity()}}), "not a number");
  target.import_state(with_first_delta(good, {{2, 1}, {5, 1}}));
}

TEST("mixing: a shard's average is refused where the learner has none") {
  const Problem problem = training_problem(Kind::values);
  const auto task = problem.task();
  StopRequest never;
  Mixing averaged = make_engine(problem, task, perceptron(task), {.inner_epochs = 0});
  CHECK(!averaged.run_pass(never).stopped);
  const auto plain = std::make_shared<marginloom::Perceptron>(task, std::vector<double>(task->size(), 1.0),
                                                              marginloom::Perceptron::Parameters{.averaged = false});
  Mixing target = make_engine(problem, task, plain, {.inner_epochs = 0});
  StateArrays state = averaged.export_state();
  state["average_late"] = std::vector<double>();
  CHECK_THROWS(std::invalid_argument, target.import_state(state), "a weight that is not there");
}

TEST("mixing: a state of versions that kept blocks of weights is taken at the start of a round only") {
  const Problem problem = training_problem(Kind::values);
  const auto task = problem.task();
  const auto shards = make_shards(problem.examples(), 17, true, 4).size();
  for (const int passes : {2, 1}) {
    Mixing source = make_engine(problem, task, perceptron(task), {.inner_epochs = 2, .threads = 2});
    StopRequest never;
    for (int pass = 0; pass < passes; ++pass) CHECK(!source.run_pass(never).stopped);
    StateArrays state = source.export_state();
    state.erase("shard_deltas");
    state.erase("shard_progress");
    state["shard_numbers"] = std::vector<std::uint64_t>(4 * shards, 0);
    state["shard_blocks"] = std::vector<std::uint64_t>();
    state["shard_values"] = std::vector<double>();
    state["shard_late"] = std::vector<double>();
    Mixing target = make_engine(problem, task, perceptron(task), {.inner_epochs = 2, .threads = 2});
    if (passes == 1) {
      CHECK_THROWS(std::invalid_argument, target.import_state(state), "within a round by an earlier version");
      continue;
    }
    target.import_state(state);
    CHECK(target.export_state() == source.export_state());
    state["shard_numbers"] = std::vector<std::uint64_t>(4 * shards + 4, 0);
    CHECK_THROWS(std::invalid_argument, target.import_state(state), "the state has 18 shards");
  }
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
