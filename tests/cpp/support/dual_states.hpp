// What the tests of dual learners' states share: a small engine, and damage that must be refused without a trace.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engines/serial.hpp"
#include "engines/worker.hpp"
#include "problems.hpp"
#include "test.hpp"

namespace dual_states {

using marginloom::SerialDual;
using marginloom::StateArrays;
using marginloom::StopRequest;

constexpr double cost = 0.3;
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

template <class T>
std::vector<T>& array(StateArrays& state, const char* name) {
  return std::get<std::vector<T>>(state.at(name));
}

inline problems::Problem problem(problems::Kind kind = problems::Kind::values) {
  marginloom::Random random(50);
  return problems::make_problem({.sentences = 14, .longest = 4, .features = 8, .kind = kind, .start_end = true},
                                random);
}

// An engine with its learner; the problem must outlive it.
template <class Learner>
struct Training {
  std::shared_ptr<Learner> learner;
  SerialDual engine;

  Training(const problems::Problem& problem, typename Learner::Parameters parameters, std::uint64_t seed = 1)
      : Training(problem, problem.task(), parameters, seed) {}

  void run(int passes) {
    StopRequest never;
    for (int pass = 0; pass < passes; ++pass) CHECK(!engine.run_pass(never).stopped);
  }

 private:
  Training(const problems::Problem& problem, const std::shared_ptr<const marginloom::SequenceTask>& task,
           typename Learner::Parameters parameters, std::uint64_t seed)
      : learner(std::make_shared<Learner>(task, std::vector<double>(problem.size(), cost), parameters)),
        engine(task, learner, problem.examples(), {.seed = seed}) {}
};

// The state after `damage` must be refused, and the engine must stay as it was.
template <class Learner>
void check_refused(typename Learner::Parameters parameters, const char* text,
                   const std::function<void(StateArrays&)>& damage) {
  const auto small = problem();
  Training<Learner> source(small, parameters);
  source.run(3);
  StateArrays state = source.engine.export_state();
  Training<Learner> target(small, parameters, 2);
  target.run(1);
  const StateArrays before = target.engine.export_state();
  damage(state);
  CHECK_THROWS(std::invalid_argument, target.engine.import_state(state), text);
  CHECK(target.engine.export_state() == before);
}

// Every array of the state is needed, and none may have another type.
template <class Learner>
void check_every_array_is_needed(typename Learner::Parameters parameters) {
  const auto small = problem();
  Training<Learner> source(small, parameters);
  source.run(2);
  for (const auto& [name, values] : source.engine.export_state()) {
    check_refused<Learner>(parameters, name.c_str(), [&](StateArrays& state) { state.erase(name); });
    check_refused<Learner>(parameters, name.c_str(), [&](StateArrays& state) {
      if (std::holds_alternative<std::vector<double>>(state[name])) {
        state[name] = std::vector<std::uint64_t>{1, 2};
      } else {
        state[name] = std::vector<double>{1, 2};
      }
    });
  }
}

// Going on from a state repeats the whole run to the last bit, and a state is restored as it was.
template <class Learner>
void check_continues(typename Learner::Parameters parameters) {
  for (const auto kind : {problems::Kind::indicators, problems::Kind::values, problems::Kind::dense}) {
    const auto small = problem(kind);
    Training<Learner> whole(small, parameters);
    whole.run(3);
    const StateArrays saved = whole.engine.export_state();
    Training<Learner> resumed(small, parameters, 9);
    resumed.run(2);
    resumed.engine.import_state(saved);
    CHECK(resumed.engine.export_state() == saved);
    whole.run(3);
    resumed.run(3);
    CHECK(resumed.engine.export_state() == whole.engine.export_state());
  }
}

inline StopRequest already_stopped() {
  StopRequest stop([] { return true; });
  while (!stop.stopped()) {
  }
  return stop;
}

// A learner cut short at the end of its part or of the pass leaves duals that the weights belong to, and can go on.
template <class Learner>
void check_stops_within(typename Learner::Parameters parameters) {
  const auto small = problem();
  Training<Learner> training(small, parameters);
  const auto task = small.task();
  std::vector<double> w(task->dimension(), 0.0);
  const auto examples = small.examples();
  marginloom::SkippedSearches none(examples.size(), 0);
  marginloom::Worker worker(*training.learner, none, examples);
  marginloom::Random random(1);
  worker.begin(random);
  const auto end = [&](StopRequest& stop) {
    worker.end_part({w, {w.data()}, 1, stop});
    worker.updates += training.learner->end_pass(w, worker.visit, stop).updates;
  };
  StopRequest stop = already_stopped();
  for (const std::size_t i : examples) worker.note(worker.find(i, w, false));
  end(stop);
  const std::size_t cut_short = worker.updates;
  std::vector<double> again(w.size());
  training.learner->write_weights(again);
  for (std::size_t k = 0; k < w.size(); ++k) CHECK_NEAR(w[k], again[k], 1e-12);
  StopRequest never;
  end(never);
  CHECK(worker.updates > cut_short);
}

}  // namespace dual_states
