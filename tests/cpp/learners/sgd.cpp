#include "learners/sgd.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "engines/serial.hpp"
#include "problems.hpp"
#include "test.hpp"

using marginloom::Random;
using marginloom::SerialOnline;
using marginloom::Sgd;
using marginloom::StateArrays;
using marginloom::StopRequest;
using problems::Kind;
using problems::Problem;

namespace {

Problem training_problem() {
  Random random(50);
  return problems::make_problem({.sentences = 15, .kind = Kind::values, .start_end = true}, random);
}

SerialOnline make_engine(const Problem& problem, const Sgd::Parameters& parameters, std::uint64_t seed) {
  const auto task = problem.task();
  return {task,
          std::make_shared<Sgd>(task, std::vector<double>(problem.size(), 1.0), parameters),
          problem.examples(),
          {.seed = seed}};
}

std::vector<double> final_weights(const SerialOnline& engine) {
  std::vector<double> result(engine.task().dimension());
  engine.final_weights(result);
  return result;
}

double number(const StateArrays& state, std::size_t which) {
  return marginloom::state_array<double>(state, "sgd_numbers")[which];
}

}  // namespace

TEST("sgd: the scale is folded into the weights before it gets small") {
  const Problem problem = training_problem();
  SerialOnline engine = make_engine(problem, {.C = 0.01, .eta0 = 0.5, .averaged = true}, 1);
  StopRequest never;
  double smallest = 1;
  double total = 1;  // what the scale would be if nothing were folded
  for (std::size_t seen = 0; seen < 40 * problem.size(); ++seen) {
    const double eta = 0.5 / std::pow(1 + 0.5 * static_cast<double>(seen) / (0.01 * problem.size()), 0.75);
    total /= 1 + eta / (0.01 * problem.size());
  }
  for (int pass = 0; pass < 40; ++pass) {
    CHECK(!engine.run_pass(never).stopped);
    smallest = std::min(smallest, number(engine.export_state(), 1));
  }
  CHECK(smallest >= 1e-3);
  CHECK(total < 1e-9);
  CHECK(marginloom::all_finite(final_weights(engine)));
}

TEST("sgd: a restored run continues bit for bit, with the step that was chosen") {
  for (const bool averaged : {false, true}) {
    const Problem problem = training_problem();
    SerialOnline whole = make_engine(problem, {.C = 0.05, .averaged = averaged}, 5);
    StopRequest never;
    CHECK(number(whole.export_state(), 0) == 0);
    for (int pass = 0; pass < 3; ++pass) CHECK(!whole.run_pass(never).stopped);
    const StateArrays saved = whole.export_state();
    CHECK(number(saved, 0) > 0);
    SerialOnline resumed = make_engine(problem, {.C = 0.05, .averaged = averaged}, 77);
    resumed.import_state(saved);
    CHECK(resumed.export_state() == saved);
    for (int pass = 0; pass < 9; ++pass) {
      CHECK(whole.run_pass(never).wrong == resumed.run_pass(never).wrong);
      CHECK(resumed.export_state() == whole.export_state());
      CHECK(problems::same_bits(final_weights(resumed), final_weights(whole)));
    }
  }
}

TEST("sgd: a run that is stopped while it chooses its step has done nothing") {
  const Problem problem = training_problem();
  SerialOnline engine = make_engine(problem, {.C = 0.05}, 5);
  StopRequest at_once([] { return true; });
  while (!at_once.stopped()) {
  }
  const auto report = engine.run_pass(at_once);
  CHECK(report.stopped);
  CHECK(report.inferences == 0);
  CHECK(number(engine.export_state(), 0) == 0);
}

TEST("sgd: a broken state is refused and changes nothing") {
  const Problem problem = training_problem();
  StopRequest never;
  SerialOnline source = make_engine(problem, {.C = 0.05, .averaged = true}, 5);
  CHECK(!source.run_pass(never).stopped);
  const StateArrays good = source.export_state();
  SerialOnline target = make_engine(problem, {.C = 0.05, .averaged = true}, 9);
  const StateArrays before = target.export_state();
  for (const auto& [name, values] : good) {
    StateArrays state = good;
    state.erase(name);
    CHECK_THROWS(std::invalid_argument, target.import_state(state), name);
    CHECK(target.export_state() == before);
  }
  for (const std::vector<double>& numbers :
       {std::vector<double>{}, {0.5}, {0.5, 0.0}, {-1.0, 1.0}, {0.5, 0.0 / 0.0}, {0.5, 1.0, 1.0}}) {
    StateArrays state = good;
    state["sgd_numbers"] = numbers;
    CHECK_THROWS(std::invalid_argument, target.import_state(state), "sgd_numbers");
    CHECK(target.export_state() == before);
  }
}
