// Cascades: parts that solve apart, here and in a world, and what is not taken from each other.
#include "engines/cascade.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "engines/serial.hpp"
#include "learners/cutting_plane.hpp"
#include "learners/dcd.hpp"
#include "learners/fsmo.hpp"
#include "parts_here.hpp"
#include "problems.hpp"
#include "test.hpp"

using namespace marginloom;
using problems::Kind;
using problems::Problem;

namespace {

using SharedTask = std::shared_ptr<const Task>;

Problem training_problem(Kind kind = Kind::values, std::size_t sentences = 40) {
  Random random(7);
  return problems::make_problem({.sentences = sentences, .longest = 5, .features = 12, .kind = kind}, random);
}

std::shared_ptr<Fsmo> fsmo(const SharedTask& task, Fsmo::Parameters parameters = {.batch = 7}) {
  return std::make_shared<Fsmo>(task, std::vector<double>(task->size(), 0.3), parameters);
}

Cascade cascade(const Problem& problem, const SharedTask& task, CascadeOptions options, std::size_t batch = 7) {
  return {task, fsmo(task, {.batch = batch}), problem.examples(), {.seed = 1}, options};
}

PartsHere world_of(std::size_t parts, const SharedTask& task, Storage storage) {
  return {parts, [=](int threads) { return std::make_shared<LayerPartner>(task, fsmo(task), storage, threads); }};
}

// Bounds of the optimum.
Certificate serial_bounds(const Problem& problem, const SharedTask& task) {
  SerialDual serial(task, fsmo(task, {.epsilon = 1e-4}), problem.examples(), {});
  StopRequest never;
  for (int pass = 0; pass < 12; ++pass) (void)serial.run_pass(never);
  return *serial.certify(1, never);
}

std::vector<double> ramp(std::size_t size, double step) {
  std::vector<double> result(size);
  for (std::size_t k = 0; k < size; ++k) result[k] = step * static_cast<double>(k);
  return result;
}

}  // namespace

TEST("cascade: the best point on the way is where the dual is highest") {
  const auto w0 = ramp(5, 0.5);
  for (const double losses : {-40.0, 0.0, 3.0, 12.0, 40.0, 90.0}) {
    const auto w1 = ramp(5, 3.0);
    const auto dual = [&](double t) {
      double result = t * losses;
      for (std::size_t k = 0; k < w0.size(); ++k) {
        const double w = w0[k] + t * (w1[k] - w0[k]);
        result -= w * w / 2;
      }
      return result;
    };
    const double found = best_share_of_way(w0, w1, losses);
    CHECK(found >= 0 && found <= 1);
    CHECK(dual(found) >= dual(0) - 1e-9);
    if (found < 1) {
      for (int k = 0; k <= 100; ++k) CHECK(dual(found) >= dual(k / 100.0) - 1e-9);
    }
  }
}

TEST("cascade: parts on threads and in a world give the same bits, whatever is sent") {
  for (const Kind kind : {Kind::indicators, Kind::values, Kind::dense}) {
    const Problem problem = training_problem(kind);
    const auto task = problem.task();
    for (const Storage storage : {Storage::local, Storage::central}) {
      if (storage == Storage::central && task->implicit()) continue;
      for (const std::size_t parts : {1U, 2U, 5U, 8U}) {
        const CascadeOptions options{.parts = parts, .feedback = 2, .rounds = 6, .storage = storage};
        CascadeOptions threads = options;
        threads.threads = 3;
        Cascade alone = cascade(problem, task, options);
        Cascade parallel = cascade(problem, task, threads);
        Cascade driver = cascade(problem, task, threads);
        PartsHere world = world_of(3, task, storage);
        StopRequest never;
        for (int pass = 0; pass < 3; ++pass) {
          const PassReport report = alone.run_pass(never);
          CHECK(report.cascade && report.cascade->solutions > 0);
          CHECK(parallel.run_pass(never).dual == report.dual);
          CHECK(driver.run_pass(never, &world).dual == report.dual);
          CHECK(alone.export_state() == parallel.export_state());
          CHECK(alone.export_state() == driver.export_state());
        }
        CHECK(alone.certify(1, never)->primal == driver.certify(2, never, &world)->primal);
      }
    }
  }
}

TEST("cascade: threads that share the weights of a part reach the optimum, on all kinds of features") {
  for (const Kind kind : {Kind::values, Kind::dense}) {
    const Problem problem = training_problem(kind, 15);
    const auto task = problem.task();
    const Certificate serial = serial_bounds(problem, task);
    Cascade driver = cascade(problem, task, {.threads = 3, .feedback = 4, .rounds = 4}, 20);
    PartsHere world = world_of(2, task, Storage::local);
    StopRequest never;
    double dual = 0;
    for (int pass = 0; pass < 30; ++pass) {
      const PassReport report = driver.run_pass(never, &world);
      CHECK(*report.dual >= dual - 1e-9 * std::max(1.0, dual));
      dual = *report.dual;
    }
    CHECK(dual <= serial.primal * (1 + 1e-9));
    CHECK(driver.certify(1, never)->dual >= 0.999 * serial.dual);
  }
}

TEST("cascade: an interrupted question leaves the duals of the run before, and training goes on") {
  const Problem problem = training_problem();
  const auto task = problem.task();
  StopRequest never;
  for (std::size_t last = 1; last < 40; last += 6) {
    Cascade driver = cascade(problem, task, {.parts = 4, .feedback = 3, .rounds = 4});
    PartsHere world = world_of(2, task, Storage::local);
    world.before = [&](const std::string&) {
      if (world.questions > last) throw Interrupted();
    };
    while (!driver.run_pass(never, &world).stopped) {
    }
    world.before = nullptr;
    const StateArrays state = driver.export_state();
    const auto& weights = state_array<double>(state, "weights");
    const auto learner = fsmo(task);
    learner->import_state(state);
    std::vector<double> w(task->dimension());
    learner->write_weights(w);
    for (std::size_t k = 0; k < w.size(); ++k) CHECK(std::abs(w[k] - weights[k]) < 1e-9);
    Cascade other = cascade(problem, task, {.parts = 4, .feedback = 3, .rounds = 4});
    other.import_state(state);
    CHECK(driver.run_pass(never, &world).inferences == problem.size());
    CHECK(!other.run_pass(never).stopped);
  }
}

TEST("cascade: questions that make no sense are rejected") {
  const Problem problem = training_problem();
  const auto task = problem.task();
  StopRequest never;
  for (const Storage storage : {Storage::local, Storage::central}) {
    LayerPartner part(task, fsmo(task), storage, 1);
    const auto learner = fsmo(task);
    Cascade trained(task, learner, problem.examples(), {}, {});
    (void)trained.run_pass(never);
    std::vector<std::size_t> examples;
    for (std::size_t i = 0; i < task->size(); ++i) {
      if (!learner->blocks()[i].empty()) examples.push_back(i);
    }
    Visit visit;
    StateArrays own{{"part_sizes", std::vector<std::uint64_t>{examples.size()}},
                    {"seeds", std::vector<std::uint64_t>{3}}};
    BlockArrays(storage, "").write(examples, learner->blocks(), visit, own);
    const StateArrays common{{"how", std::vector<double>{0.01, 0, 0, 0, 0, 0, 0, 0}}};
    const auto ask = [&](const StateArrays& changed) {
      return part.answer("solve", views(common), views(changed), never);
    };
    const StateArrays first = ask(own);
    CHECK(state_array<double>(first, "duals") == state_array<double>(ask(own), "duals"));
    const auto refuse = [&](const char* name, const std::function<void(StateArray&)>& damage, const char* message) {
      StateArrays changed = own;
      damage(changed.at(name));
      CHECK_THROWS(std::invalid_argument, (void)ask(changed), message);
      CHECK(state_array<double>(ask(own), "duals") == state_array<double>(first, "duals"));  // nothing is left of it
    };
    const auto numbers = [](StateArray& array) -> std::vector<std::uint64_t>& {
      return std::get<std::vector<std::uint64_t>>(array);
    };
    refuse("examples", [&](StateArray& array) { numbers(array)[0] = 40; }, "there is no example 40");
    refuse("examples", [&](StateArray& array) { numbers(array)[0] = numbers(array)[1]; }, "");
    refuse("part_sizes", [&](StateArray& array) { ++numbers(array)[0]; }, "a part has more examples than there are");
    refuse("part_sizes", [&](StateArray& array) { --numbers(array)[0]; }, "there are examples of no part");
    refuse("seeds", [&](StateArray& array) { numbers(array).clear(); }, "'seeds' has 0 values");
    if (storage == Storage::central) {
      refuse("sizes", [&](StateArray& array) { ++numbers(array)[0]; }, "");
      continue;
    }
    const auto bytes = [](StateArray& array) -> std::vector<std::uint8_t>& {
      return std::get<std::vector<std::uint8_t>>(array);
    };
    refuse("sizes", [&](StateArray& array) { bytes(array).front() = 100; }, "there are fewer duals than candidates");
    refuse("sizes", [&](StateArray& array) { bytes(array).back() += 1; }, "an output ends behind the last one");
    refuse("sizes", [&](StateArray& array) { bytes(array).back() |= 0x80; }, "there are fewer sizes than outputs");
    refuse("sizes", [&](StateArray& array) { bytes(array).push_back(0); }, "there are outputs of no example");
    refuse(
        "duals",
        [&](StateArray& array) { std::get<std::vector<double>>(array)[0] = std::numeric_limits<double>::quiet_NaN(); },
        "a dual is negative or not finite");
  }
}

TEST("cascade: what cannot be solved in parts is rejected") {
  const Problem problem = training_problem();
  const auto task = problem.task();
  const std::vector<double> costs(task->size(), 0.3);
  CHECK_THROWS(std::invalid_argument,
               Cascade(task, std::make_shared<Dcd>(task, costs, Dcd::Parameters{}), problem.examples(), {}, {}),
               "does not solve the blocks of many examples together");
  CHECK_THROWS(std::invalid_argument,
               Cascade(task, std::make_shared<CuttingPlane>(task, costs, CuttingPlane::Parameters{}),
                       problem.examples(), {}, {}),
               "does not solve the blocks of many examples together");
  CHECK_THROWS(std::invalid_argument, cascade(problem, task, {.feedback = 0}), "a run through the layers");
  const Problem dense = training_problem(Kind::dense);
  const auto dense_task = dense.task();
  CHECK_THROWS(std::invalid_argument, cascade(dense, dense_task, {.storage = Storage::central}), "stored centrally");
}
