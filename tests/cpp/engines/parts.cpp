// Engines in a world of parts: the same bits as alone, and what parts and drivers do not take from each other.
#include "engines/part.hpp"

#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engines/master_worker.hpp"
#include "engines/mixing.hpp"
#include "engines/serial.hpp"
#include "learners/cutting_plane.hpp"
#include "learners/dcd.hpp"
#include "learners/frank_wolfe.hpp"
#include "learners/fsmo.hpp"
#include "learners/one_slack.hpp"
#include "online_engines.hpp"
#include "parts_here.hpp"
#include "problems.hpp"
#include "test.hpp"

using namespace marginloom;
using online_engines::final_weights;
using problems::Kind;

namespace {

using SharedTask = std::shared_ptr<const Task>;
using Make = std::function<std::shared_ptr<BlockLearner>(const SharedTask&)>;

// With more parts than that, some have no work.
constexpr std::size_t shard_count = 4;
constexpr std::size_t part_counts[] = {1, 2, 3, 5};

template <class Learner>
Make learner(typename Learner::Parameters parameters) {
  return [parameters](const SharedTask& task) {
    return std::make_shared<Learner>(task, std::vector<double>(task->size(), 0.3), parameters);
  };
}

const std::vector<Make>& learners() {
  static const std::vector<Make> all{
      learner<Dcd>({}),
      learner<Dcd>({.loss = Loss::hinge, .k_best = 2, .averaged = true}),
      learner<CuttingPlane>({.batch = 3}),
      learner<CuttingPlane>({.loss = Loss::squared_hinge, .batch = 0}),
      learner<OneSlack>({.cache = 3}),
      learner<FrankWolfe>({.inner_passes = 2, .averaged = true}),
      learner<Fsmo>({.batch = 5}),
  };
  return all;
}

Shards shards_of(const problems::Problem& problem) {
  return make_shards(problem.examples(), shard_count, true, 4);
}

Mixing mixing(const problems::Problem& problem, const SharedTask& task, online_engines::Learner learner,
              MixingOptions options) {
  options.order.seed = 4;
  return {task, std::move(learner), shards_of(problem), options};
}

PartsHere shard_parts(std::size_t parts, const problems::Problem& problem, const SharedTask& task,
                      const online_engines::Learner& learner) {
  return {parts, [&](int threads) {
            return std::make_shared<ShardPart>(task, *learner, shards_of(problem), OrderOptions{.seed = 4}, threads);
          }};
}

PartsHere search_parts(std::size_t parts, const SharedTask& task) {
  return {parts, [&](int threads) { return std::make_shared<SearchPart>(task, threads); }};
}

bool same(const PassReport& a, const PassReport& b) {
  return a.inferences == b.inferences && a.updates == b.updates && a.wrong == b.wrong &&
         a.training_loss == b.training_loss && a.found == b.found && a.dual == b.dual &&
         a.primal_estimate == b.primal_estimate && a.active == b.active;
}

bool same(const Certificate& a, const Certificate& b) {
  return a.primal == b.primal && a.dual == b.dual && a.complete == b.complete;
}

}  // namespace

TEST("parts: mixing gives what one process gives, for any number of parts") {
  for (const Kind kind : {Kind::values, Kind::dense}) {
    const auto problem = online_engines::training_problem(kind);
    const auto task = problem.task();
    for (const std::size_t inner_epochs : {0U, 1U, 3U}) {
      for (const auto make : {online_engines::perceptron, online_engines::mira}) {
        const MixingOptions options{.mixing = inner_epochs == 1 ? MixingShares::uniform : MixingShares::errors,
                                    .inner_epochs = inner_epochs};
        for (const std::size_t parts : part_counts) {
          Mixing alone = mixing(problem, task, make(task), options);
          Mixing driver = mixing(problem, task, make(task), options);
          PartsHere world = shard_parts(parts, problem, task, make(task));
          StopRequest never;
          for (int pass = 0; pass < 5; ++pass) {
            CHECK(same(alone.run_pass(never), driver.run_pass(never, pass == 2 ? nullptr : &world)));
            CHECK(alone.export_state() == driver.export_state());
            CHECK(problems::same_bits(final_weights(alone), final_weights(driver)));
          }
          CHECK(world.questions == 4);
        }
      }
    }
  }
}

TEST("parts: every learner on master-worker gives what one process gives, certificates too") {
  std::size_t turn = 0;  // every learner meets every number of parts, on one kind of features or another
  for (const Kind kind : {Kind::indicators, Kind::values, Kind::dense}) {
    const auto problem = online_engines::training_problem(kind);
    const auto task = problem.task();
    for (const Make& make : learners()) {
      for (const std::size_t parts : {part_counts[turn % 4], part_counts[(turn + 1) % 4]}) {
        const std::size_t rounds = parts == 2 ? 1 : 7;
        MasterWorker alone(task, make(task), problem.examples(), {.seed = 1}, {.threads = 2, .rounds = rounds});
        MasterWorker driver(task, make(task), problem.examples(), {.seed = 1},
                            {.threads = 1 + static_cast<int>(parts % 2), .rounds = rounds});
        PartsHere world = search_parts(parts, task);
        StopRequest never;
        for (int pass = 0; pass < 3; ++pass) {
          CHECK(same(alone.run_pass(never), driver.run_pass(never, &world)));
          CHECK(alone.export_state() == driver.export_state());
        }
        CHECK(world.questions_of_changes == (task->implicit() ? 0 : 3 * (rounds - 1)));
        CHECK(same(*alone.certify(1, never), *driver.certify(2, never, &world)));
        CHECK(same(alone.run_pass(never), driver.run_pass(never)));
      }
      ++turn;
    }
  }
}

TEST("parts: answers are learnt from one by one, however the work is divided, and that changes nothing") {
  for (const Kind kind : {Kind::values, Kind::dense}) {
    const auto problem = online_engines::training_problem(kind);
    const auto task = problem.task();
    for (const Make& make : learners()) {
      for (const std::vector<double>& uneven : std::vector<std::vector<double>>{
               {1}, {0, 1}, {0.1, 0.5, 0.4}, {3, 1, 0, 1, 0, 2, 1}, std::vector<double>(100, 1)}) {
        MasterWorker alone(task, make(task), problem.examples(), {.seed = 1}, {.rounds = 3});
        MasterWorker driver(task, make(task), problem.examples(), {.seed = 1}, {.threads = 2, .rounds = 3});
        PartsHere world = search_parts(3, task);
        world.uneven = uneven;
        StopRequest never;
        for (int pass = 0; pass < 3; ++pass) {
          CHECK(same(alone.run_pass(never), driver.run_pass(never, &world)));
          CHECK(alone.export_state() == driver.export_state());
        }
        CHECK(same(*alone.certify(1, never), *driver.certify(1, never, &world)));
      }
    }
  }
}

TEST("parts: several threads learn from the answers of a world, each example once in a pass") {
  const auto problem = online_engines::training_problem(Kind::values);
  const auto task = problem.task();
  MasterWorker driver(task, learners().front()(task), problem.examples(), {.seed = 1},
                      {.threads = 2, .rounds = 2, .learners = 2});
  PartsHere world = search_parts(2, task);
  world.uneven = {0.1, 0.4, 0.3, 0.2};
  StopRequest never;
  double dual = 0;
  for (int pass = 0; pass < 10; ++pass) {
    const PassReport report = driver.run_pass(never, &world);
    CHECK(report.inferences == problem.size());
    CHECK(*report.dual >= dual);
    dual = *report.dual;
  }
  CHECK(dual > 0);
}

TEST("parts: the first answer is learnt from before the next one is there") {
  const auto problem = online_engines::training_problem(Kind::values);
  const auto task = problem.task();
  MasterWorker driver(task, learners().front()(task), problem.examples(), {.seed = 1}, {.rounds = 1});
  PartsHere world = search_parts(2, task);
  std::vector<bool> moved;
  world.after = [&](const std::string&, std::size_t, StateArrays&) {
    moved.push_back(std::ranges::any_of(driver.weights()->values(), [](double w) { return w != 0; }));
  };
  StopRequest never;
  CHECK(!driver.run_pass(never, &world).stopped);
  CHECK(moved == std::vector<bool>{false, true});
}

TEST("parts: what follows an answer that was refused or a request to stop is not asked for") {
  const auto problem = online_engines::training_problem(Kind::values);
  const auto task = problem.task();
  MasterWorker driver(task, learners().front()(task), problem.examples(), {.seed = 1}, {.rounds = 2});
  PartsHere world = search_parts(3, task);
  std::size_t answers = 0;
  bool spoils = true;
  world.after = [&](const std::string&, std::size_t number, StateArrays& answer) {
    ++answers;
    if (spoils && number == 1) answer.erase("slacks");
  };
  StopRequest never;
  CHECK_THROWS(std::invalid_argument, driver.run_pass(never, &world), "the answer of part 1 to 'search'");
  CHECK(answers == 2);
  answers = 0;
  spoils = false;
  StopRequest stop([&] { return answers == 1; }, StopRequest::Time(0));
  CHECK(driver.run_pass(stop, &world).stopped);
  CHECK(answers == 1);
  CHECK(driver.run_pass(never, &world).inferences == problem.size());
}

TEST("parts: an engine without parts has none for a pass, and some for a certificate") {
  const auto problem = online_engines::training_problem(Kind::values);
  const auto task = problem.task();
  SerialDual engine(task, learners().front()(task), problem.examples(), {});
  PartsHere world = search_parts(3, task);
  StopRequest never;
  CHECK_THROWS(std::invalid_argument, engine.run_pass(never, &world), "does not work in parts");
  CHECK(!engine.run_pass(never).stopped);
  CHECK(same(*engine.certify(1, never), *engine.certify(1, never, &world)));
}

TEST("parts: a question that is interrupted ends the pass or certificate, and nothing of it is learnt") {
  const auto problem = online_engines::training_problem(Kind::values);
  const auto task = problem.task();
  StopRequest never;
  const auto interrupt = [](const std::string&) { throw Interrupted(); };
  for (const Make& make : learners()) {
    MasterWorker driver(task, make(task), problem.examples(), {.seed = 1}, {.threads = 2});
    PartsHere world = search_parts(2, task);
    CHECK(!driver.run_pass(never, &world).stopped);
    const auto w = driver.weights()->values();
    const std::vector<double> before(w.begin(), w.end());
    world.before = interrupt;
    CHECK(driver.run_pass(never, &world).stopped);
    CHECK(problems::same_bits(w, before));
    CHECK(!driver.certify(1, never, &world)->complete);
    world.before = nullptr;
    MasterWorker other(task, make(task), problem.examples(), {.seed = 1}, {.threads = 2});
    other.import_state(driver.export_state());
    CHECK(driver.run_pass(never, &world).dual == other.run_pass(never).dual);
  }
  for (const std::size_t inner_epochs : {0U, 1U, 3U}) {
    Mixing driver = mixing(problem, task, online_engines::perceptron(task), {.inner_epochs = inner_epochs});
    PartsHere world = shard_parts(2, problem, task, online_engines::perceptron(task));
    CHECK(!driver.run_pass(never, &world).stopped);
    const auto before = final_weights(driver);
    world.before = interrupt;
    CHECK(driver.run_pass(never, &world).stopped);
    CHECK(problems::same_bits(final_weights(driver), before));
    world.before = nullptr;
    CHECK(driver.run_pass(never, &world).inferences == problem.size());
  }
}

TEST("parts: answers that cannot be are refused, and nothing of them is learnt") {
  const auto problem = online_engines::training_problem(Kind::values);
  const auto task = problem.task();
  StopRequest never;
  using Damage = std::function<void(StateArrays&)>;
  const auto numbers = [](StateArrays& answer, const char* name) -> std::vector<std::uint64_t>& {
    return std::get<std::vector<std::uint64_t>>(answer.at(name));
  };
  const auto doubles = [](StateArrays& answer, const char* name) -> std::vector<double>& {
    return std::get<std::vector<double>>(answer.at(name));
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto refuse = [&](PartsHere& world, const Damage& damage, const std::function<void()>& work) {
    world.after = [&](const std::string&, std::size_t part, StateArrays& answer) {
      if (part == 0) damage(answer);
    };
    CHECK_THROWS(std::invalid_argument, work(), "the answer of part 0 to '");
    world.after = nullptr;
  };

  MasterWorker driver(task, learners().front()(task), problem.examples(), {.seed = 1}, {});
  PartsHere searching = search_parts(3, task);
  const auto weights = [&] {
    return std::vector<double>(driver.weights()->values().begin(), driver.weights()->values().end());
  };
  CHECK(!driver.run_pass(never, &searching).stopped);
  const auto before = weights();
  for (const Damage& damage : std::vector<Damage>{
           [&](StateArrays& answer) { answer.erase("candidates"); },
           [&](StateArrays& answer) { answer["counts"] = std::vector<double>{1}; },
           [&](StateArrays& answer) { doubles(answer, "slacks").pop_back(); },
           [&](StateArrays& answer) { doubles(answer, "slacks").front() = -1; },
           [&](StateArrays& answer) { doubles(answer, "slacks").front() = nan; },
           [&](StateArrays& answer) { numbers(answer, "counts").front() += 1; },
           [&](StateArrays& answer) { std::ranges::fill(numbers(answer, "counts"), 0U); },
           [&](StateArrays& answer) { std::ranges::reverse(numbers(answer, "counts")); },
           [&](StateArrays& answer) { std::get<std::vector<std::uint8_t>>(answer.at("candidates")).pop_back(); },
       }) {
    refuse(searching, damage, [&] { driver.run_pass(never, &searching); });
    CHECK(problems::same_bits(weights(), before));
  }
  refuse(
      searching, [&](StateArrays& answer) { doubles(answer, "slacks").front() = nan; },
      [&] { (void)driver.certify(1, never, &searching); });

  Mixing mixed = mixing(problem, task, online_engines::perceptron(task), {});
  PartsHere training = shard_parts(3, problem, task, online_engines::perceptron(task));
  for (const Damage& damage : std::vector<Damage>{
           [&](StateArrays& answer) { answer.erase("shard_deltas"); },
           [&](StateArrays& answer) { numbers(answer, "shard_progress").pop_back(); },
           [&](StateArrays& answer) { numbers(answer, "shard_progress")[2] += 1; },
           [&](StateArrays& answer) { numbers(answer, "shard_progress")[3] += 1; },
           [&](StateArrays& answer) { numbers(answer, "counts").front() -= 1; },
           [&](StateArrays& answer) { doubles(answer, "losses").front() = nan; },
           [&](StateArrays& answer) { std::get<std::vector<std::uint8_t>>(answer.at("shard_deltas")).pop_back(); },
       }) {
    const auto learnt = final_weights(mixed);
    refuse(training, damage, [&] { mixed.run_pass(never, &training); });
    CHECK(problems::same_bits(final_weights(mixed), learnt));
  }
  CHECK(mixed.run_pass(never, &training).inferences == problem.size());
}

TEST("parts: implicit differences of outputs that do not exist are refused") {
  const auto problem = online_engines::training_problem(Kind::dense);
  const auto task = problem.task();
  MasterWorker driver(task, learners().front()(task), problem.examples(), {.seed = 1}, {});
  PartsHere world = search_parts(2, task);
  world.after = [](const std::string&, std::size_t, StateArrays& answer) {
    std::get<std::vector<std::uint8_t>>(answer.at("candidates")).back() = 200;  // a label of the last output
  };
  StopRequest never;
  CHECK_THROWS(std::invalid_argument, driver.run_pass(never, &world), "cannot be used");
}

TEST("parts: questions that cannot be answered are refused in a sentence") {
  const auto problem = online_engines::training_problem(Kind::values);
  const auto task = problem.task();
  const auto perceptron = online_engines::perceptron(task);
  SearchPart searching(task, 2);
  ShardPart training(task, *perceptron, shards_of(problem), {}, 2);
  StopRequest never;
  const std::vector<double> weights(task->dimension());
  const auto refused = [&](Part& part, const char* question, const std::vector<double>& w, const StateArrays& own,
                           const char* why) {
    CHECK_THROWS(std::invalid_argument, (void)part.answer(question, {{"weights", std::span(w)}}, views(own), never),
                 why);
  };
  using Numbers = std::vector<std::uint64_t>;
  using Doubles = std::vector<double>;
  const StateArrays one{
      {"examples", Numbers{3}}, {"k", Numbers{1}}, {"loss_scale", Doubles{1}}, {"min_violation", Doubles{0}}};
  const auto with = [](StateArrays arrays, const char* name, StateArray value) {
    arrays[name] = std::move(value);
    return arrays;
  };
  CHECK(searching.answer("search", {{"weights", std::span(weights)}}, views(one), never).contains("candidates"));
  refused(searching, "train", weights, one, "there is no question 'train' for a part of this engine");
  refused(training, "search", weights, one, "there is no question 'search'");
  refused(searching, "search", {1.0}, one, "'weights' has 1 values instead of");
  refused(searching, "slacks", weights, {}, "no array 'examples'");
  refused(searching, "slacks", weights, with(one, "examples", Numbers{90}), "there is no example 90");
  refused(searching, "search", weights, with(one, "examples", Doubles{3}), "'examples' has the wrong type");
  refused(searching, "search", weights, with(one, "examples", Numbers{3, 4}), "'k' has 1 values instead of 2");
  refused(searching, "search", weights, with(one, "k", Numbers{0}), "number of candidates");
  refused(searching, "search", weights, with(one, "loss_scale", Doubles{-1}), "factor of the loss");
  refused(searching, "search", weights, with(one, "min_violation", Doubles{std::nan("")}), "least violation");
  const StateArrays shard{{"shards", Numbers{1}},
                          {"seeds", Numbers{7}},
                          {"shard_progress", Numbers{0, 0, 0, 0, 0}},
                          {"shard_deltas", std::vector<std::uint8_t>{}}};
  CHECK(training.answer("train", {{"weights", std::span(weights)}}, views(shard), never).contains("losses"));
  refused(training, "train", weights, with(shard, "shards", Numbers{4}), "there is no shard 4");
  refused(training, "train", weights, with(shard, "seeds", Numbers{}), "'seeds' has 0 values instead of 1");
  refused(training, "train", weights, with(shard, "shard_progress", Numbers{9, 0, 0, 0, 0}),
          "'shard_deltas' are too short");
  refused(training, "train", weights, with(shard, "shard_deltas", std::vector<std::uint8_t>(3)), "too long");
}

TEST("parts: a part that is told to stop has no answer, and answers the next question") {
  const auto problem = online_engines::training_problem(Kind::values);
  const auto task = problem.task();
  SearchPart part(task, 2);
  const std::vector<double> weights(task->dimension());
  const std::vector<std::uint64_t> examples{3, 1};
  const ArrayViews own{{"examples", std::span(examples)}};
  StopRequest stop([] { return true; }, StopRequest::Time(0));
  CHECK_THROWS(Interrupted, (void)part.answer("slacks", {{"weights", std::span(weights)}}, own, stop), "interrupted");
  StopRequest never;
  const auto answer = part.answer("slacks", {{"weights", std::span(weights)}}, own, never);
  CHECK(state_array<double>(answer, "slacks").size() == 2);
  CHECK(state_array<double>(answer, "seconds").size() == 2);
}
