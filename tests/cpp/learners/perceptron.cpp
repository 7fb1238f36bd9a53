#include "learners/perceptron.hpp"

#include <stdexcept>

#include "engines/serial.hpp"
#include "problems.hpp"
#include "test.hpp"

using marginloom::Perceptron;
using marginloom::Random;
using marginloom::SerialOnline;
using marginloom::StateArrays;
using marginloom::StopRequest;
using problems::Kind;
using problems::Problem;

namespace {

// The textbook's perceptron: all outputs tried, the sum of all weight vectors kept.
struct Reference {
  std::vector<double> w;
  std::vector<double> sum;
  double steps = 0;
  std::size_t wrong = 0;
  double loss = 0;

  explicit Reference(std::size_t dimension) : w(dimension, 0.0), sum(dimension, 0.0) {}

  void pass(const Problem& problem, const std::vector<double>& instance_weights) {
    wrong = 0;
    loss = 0;
    for (std::size_t i = 0; i < problem.size(); ++i) {
      const auto best = problems::enumerate(problem, i, w, 0);
      const auto difference = problems::difference(problem, i, best.labels, w.size());
      for (std::size_t k = 0; k < w.size(); ++k) w[k] += instance_weights[i] * difference[k];
      for (std::size_t k = 0; k < w.size(); ++k) sum[k] += w[k];
      ++steps;
      wrong += best.labels != problem.gold_of(i);
      loss += problems::loss(problem, i, best.labels);
    }
  }
  [[nodiscard]] std::vector<double> average() const {
    std::vector<double> result = sum;
    for (double& value : result) value /= steps;
    return result;
  }
};

Problem training_problem(Kind kind, bool start_end) {
  Random random(50);
  return problems::make_problem({.sentences = 15, .kind = kind, .start_end = start_end}, random);
}

// Powers of two, so that every sum is exact.
std::vector<double> instance_weights(const Problem& problem) {
  std::vector<double> weights(problem.size(), 1.0);
  weights[1] = 2;
  weights[2] = 0.5;
  return weights;
}

SerialOnline make_engine(const Problem& problem, bool averaged, bool shuffle, std::uint64_t seed = 1) {
  const auto task = problem.task();
  return {task,
          std::make_shared<Perceptron>(task, instance_weights(problem), Perceptron::Parameters{.averaged = averaged}),
          problem.examples(),
          {.seed = seed, .shuffle = shuffle}};
}

std::vector<double> final_weights(SerialOnline& engine) {
  std::vector<double> result(engine.weights()->size(), 99.0);
  engine.final_weights(result);
  return result;
}

}  // namespace

TEST("perceptron: plain and averaged weights equal those of a naive reference exactly") {
  for (const Kind kind : {Kind::indicators, Kind::values, Kind::dense}) {
    for (const bool start_end : {false, true}) {
      const Problem problem = training_problem(kind, start_end);
      SerialOnline plain = make_engine(problem, false, false);
      SerialOnline averaged = make_engine(problem, true, false);
      Reference reference(plain.weights()->size());
      StopRequest never;
      CHECK(final_weights(averaged) == reference.w);
      for (int pass = 0; pass < 6; ++pass) {
        reference.pass(problem, instance_weights(problem));
        for (SerialOnline* engine : {&plain, &averaged}) {
          const auto report = engine->run_pass(never);
          CHECK(report.inferences == problem.size());
          CHECK(report.wrong == reference.wrong);
          CHECK(report.updates == reference.wrong);
          CHECK(report.training_loss == reference.loss / static_cast<double>(problem.size()));
          CHECK(!report.primal_estimate && !report.dual);
        }
        CHECK(final_weights(plain) == reference.w);
        CHECK(final_weights(averaged) == reference.average());
        CHECK(final_weights(averaged) != reference.w);
      }
      CHECK(!plain.certify(1, never));
    }
  }
}

TEST("perceptron: the same seed gives the same bits, another order does not") {
  const Problem problem = training_problem(Kind::indicators, false);
  SerialOnline first = make_engine(problem, true, true, 5);
  SerialOnline again = make_engine(problem, true, true, 5);
  SerialOnline other = make_engine(problem, true, true, 6);
  StopRequest never;
  for (SerialOnline* engine : {&first, &again, &other}) {
    for (int pass = 0; pass < 3; ++pass) CHECK(engine->run_pass(never).inferences == problem.size());
  }
  CHECK(problems::same_bits(final_weights(first), final_weights(again)));
  CHECK(!problems::same_bits(final_weights(first), final_weights(other)));
}

TEST("perceptron: a restored run continues bit for bit") {
  for (const bool averaged : {false, true}) {
    const Problem problem = training_problem(Kind::values, true);
    SerialOnline whole = make_engine(problem, averaged, true, 5);
    StopRequest never;
    for (int pass = 0; pass < 3; ++pass) CHECK(!whole.run_pass(never).stopped);
    const StateArrays saved = whole.export_state();
    SerialOnline resumed = make_engine(problem, averaged, true, 77);
    resumed.import_state(saved);
    CHECK(resumed.export_state() == saved);
    for (int pass = 0; pass < 3; ++pass) {
      CHECK(whole.run_pass(never).wrong == resumed.run_pass(never).wrong);
      CHECK(resumed.export_state() == whole.export_state());
      CHECK(problems::same_bits(final_weights(resumed), final_weights(whole)));
    }
  }
}

TEST("perceptron: a broken state is refused and changes nothing") {
  const Problem problem = training_problem(Kind::indicators, false);
  StopRequest never;
  SerialOnline source = make_engine(problem, true, true);
  CHECK(!source.run_pass(never).stopped);
  const StateArrays good = source.export_state();
  SerialOnline target = make_engine(problem, true, true, 9);
  const StateArrays before = target.export_state();
  const auto check_refused = [&](const char* name, marginloom::StateArray value, const char* text) {
    StateArrays state = good;
    state[name] = std::move(value);
    CHECK_THROWS(std::invalid_argument, target.import_state(state), text);
    CHECK(target.export_state() == before);
  };
  for (const auto& [name, values] : good) {
    StateArrays state = good;
    state.erase(name);
    CHECK_THROWS(std::invalid_argument, target.import_state(state), name);
    CHECK(target.export_state() == before);
  }
  check_refused("weights", std::vector<double>{1, 2}, "2 weights");
  check_refused("weights", std::vector<std::uint8_t>{1, 2}, "wrong type");
  check_refused("weights", std::vector<double>(target.weights()->size(), 0.0 / 0.0), "weights");
  check_refused("random", std::vector<std::uint64_t>{}, "random");
  check_refused("average_ticks", std::vector<std::uint64_t>{1, 2}, "not one number");
  check_refused("average_late", std::vector<double>{}, "averages");
}

TEST("perceptron: averages that are not numbers are refused") {
  const Problem problem = training_problem(Kind::indicators, false);
  SerialOnline engine = make_engine(problem, true, true);
  StateArrays state = engine.export_state();
  std::get<std::vector<double>>(state["average_late"])[0] = 0.0 / 0.0;
  CHECK_THROWS(std::invalid_argument, engine.import_state(state), "");
}

TEST("perceptron: one weight per example is needed") {
  const Problem problem = training_problem(Kind::indicators, false);
  CHECK_THROWS(std::invalid_argument, Perceptron(problem.task(), {1}, {.averaged = false}), "one weight per example");
}
