// Training to a certificate with DCD on one thread, and saving and restoring it.
#include <functional>
#include <limits>
#include <stdexcept>

#include "engines/serial.hpp"
#include "learners/dcd.hpp"
#include "problems.hpp"
#include "test.hpp"

using marginloom::Certificate;
using marginloom::Dcd;
using marginloom::Random;
using marginloom::SerialDual;
using marginloom::StateArrays;
using marginloom::StopRequest;
using problems::Kind;
using problems::Problem;

namespace {

Problem training_problem(std::uint64_t seed, std::size_t sentences, Kind kind) {
  Random random(seed);
  return problems::make_problem(
      {.sentences = sentences, .longest = 5, .features = 20, .kind = kind, .start_end = true, .label_costs = true},
      random);
}

SerialDual make_engine(const Problem& problem, std::uint64_t seed, double cost = 0.02) {
  const auto task = problem.task();
  return {task,
          std::make_shared<Dcd>(task, std::vector<double>(problem.size(), cost), Dcd::Parameters{.inner_passes = 20}),
          problem.examples(),
          {.seed = seed}};
}

void run_passes(SerialDual& engine, int count) {
  StopRequest never;
  for (int pass = 0; pass < count; ++pass) CHECK(!engine.run_pass(never).stopped);
}

double primal_by_definition(const Problem& problem, std::span<const double> w, double cost) {
  double primal = 0;
  for (const double value : w) primal += value * value / 2;
  for (std::size_t i = 0; i < problem.size(); ++i) {
    const double slack =
        problems::enumerate(problem, i, w, 1).score - problems::score(problem, i, problem.gold_of(i), w);
    primal += cost * slack * slack;
  }
  return primal;
}

StopRequest already_stopped() {
  StopRequest stop([] { return true; });
  while (!stop.stopped()) {
  }
  return stop;
}

}  // namespace

TEST("serial_dual: the certified gap is never negative and falls below 1e-4") {
  for (const Kind kind : {Kind::indicators, Kind::values, Kind::dense}) {
    const Problem problem = training_problem(40, 30, kind);
    SerialDual engine = make_engine(problem, 1);
    StopRequest never;
    double gap = 1;
    double last_dual = 0;
    int passes = 0;
    while (gap >= 1e-4 && passes < 100) {
      const auto report = engine.run_pass(never);
      ++passes;
      CHECK(report.inferences == problem.size());
      CHECK(report.active > 0);
      const Certificate certificate = engine.certify(1, never).value();
      CHECK(certificate.complete && certificate.proven);
      CHECK_NEAR(certificate.dual, report.dual.value(), 1e-9);
      CHECK(certificate.dual >= last_dual - 1e-9);
      last_dual = certificate.dual;
      gap = (certificate.primal - certificate.dual) / certificate.primal;
      CHECK(gap >= -1e-9);
      CHECK_NEAR(certificate.primal, primal_by_definition(problem, engine.weights()->values(), 0.02), 1e-9);
    }
    CHECK(passes > 1);
    CHECK(gap < 1e-4);
  }
}

TEST("serial_dual: the estimates of a pass close in on the certificate, and the threshold follows them") {
  const Problem problem = training_problem(40, 30, Kind::values);
  SerialDual engine = make_engine(problem, 1);
  run_passes(engine, 60);
  StopRequest never;
  const auto report = engine.run_pass(never);
  const StateArrays state = engine.export_state();
  CHECK(marginloom::state_array<double>(state, "block_threshold").at(0) < 0.001);  // 0.01 at the start
  const Certificate certificate = engine.certify(1, never).value();
  CHECK_NEAR(report.primal_estimate.value(), certificate.primal, 1e-3 * certificate.primal);
  CHECK_NEAR(report.dual.value(), certificate.dual, 1e-9);
}

TEST("serial_dual: the certificate is the same on 1 and on 4 threads") {
  const Problem problem = training_problem(41, 300, Kind::values);
  SerialDual engine = make_engine(problem, 1);
  StopRequest never;
  for (int pass = 0; pass < 3; ++pass) {
    run_passes(engine, 1);
    const Certificate one = engine.certify(1, never).value();
    const Certificate four = engine.certify(4, never).value();
    CHECK(one.primal == four.primal);
    CHECK(one.dual == four.dual);
    CHECK(one.complete && four.complete);
    CHECK_NEAR(four.primal, primal_by_definition(problem, engine.weights()->values(), 0.02), 1e-9 * one.primal);
  }
}

TEST("serial_dual: the same seed gives the same bits, another seed does not") {
  const Problem problem = training_problem(42, 40, Kind::values);
  SerialDual first = make_engine(problem, 7);
  SerialDual again = make_engine(problem, 7);
  SerialDual other = make_engine(problem, 8);
  for (SerialDual* engine : {&first, &again, &other}) run_passes(*engine, 5);
  CHECK(problems::same_bits(first.weights()->values(), again.weights()->values()));
  CHECK(first.export_state() == again.export_state());
  CHECK(!problems::same_bits(first.weights()->values(), other.weights()->values()));
}

TEST("serial_dual: a restored run continues bit for bit") {
  StopRequest never;
  for (const Kind kind : {Kind::indicators, Kind::values, Kind::dense}) {
    const Problem problem = training_problem(43, 40, kind);
    for (const bool certified : {false, true}) {
      SerialDual whole = make_engine(problem, 3);
      run_passes(whole, 4);
      if (certified) CHECK(whole.certify(2, never).has_value());
      const StateArrays saved = whole.export_state();
      SerialDual resumed = make_engine(problem, 99);
      resumed.import_state(saved);
      CHECK(resumed.export_state() == saved);
      for (int pass = 0; pass < 4; ++pass) {
        run_passes(whole, 1);
        run_passes(resumed, 1);
        CHECK(resumed.export_state() == whole.export_state());
      }
      CHECK(problems::same_bits(resumed.weights()->values(), whole.weights()->values()));
      CHECK(whole.export_state() != saved);
    }
  }
}

TEST("serial_dual: weights that the duals contradict are not taken from a state") {
  const Problem problem = training_problem(44, 20, Kind::values);
  SerialDual engine = make_engine(problem, 3);
  run_passes(engine, 2);
  StateArrays state = engine.export_state();
  std::get<std::vector<double>>(state["weights"])[0] += 1;
  SerialDual resumed = make_engine(problem, 3);
  resumed.import_state(state);
  for (std::size_t k = 0; k < engine.weights()->size(); ++k) {
    CHECK_NEAR(resumed.weights()->values()[k], engine.weights()->values()[k], 1e-12);
  }
}

namespace {

// The state must be refused after `damage`, and the engine must stay as it was.
void check_refused(const char* text, const std::function<void(StateArrays&)>& damage) {
  const Problem problem = training_problem(45, 12, Kind::indicators);
  SerialDual source = make_engine(problem, 3);
  run_passes(source, 2);
  StateArrays state = source.export_state();
  SerialDual target = make_engine(problem, 4);
  run_passes(target, 1);
  const StateArrays before = target.export_state();
  damage(state);
  CHECK_THROWS(std::invalid_argument, target.import_state(state), text);
  CHECK(target.export_state() == before);
}

template <class T>
std::vector<T>& array(StateArrays& state, const char* name) {
  return std::get<std::vector<T>>(state[name]);
}

}  // namespace

TEST("serial_dual: a broken state is refused and changes nothing") {
  for (const char* name :
       {"dual_examples", "duals", "dual_output_offsets", "dual_outputs", "block_threshold", "random", "weights"}) {
    check_refused(name, [&](StateArrays& state) { state.erase(name); });
    check_refused("wrong type", [&](StateArrays& state) {
      if (std::holds_alternative<std::vector<double>>(state[name])) {
        state[name] = std::vector<std::uint8_t>{1};
      } else {
        state[name] = std::vector<double>{1};
      }
    });
  }
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  check_refused("differ in length", [](auto& s) { array<double>(s, "duals").pop_back(); });
  check_refused("differ in length", [](auto& s) { array<std::uint64_t>(s, "dual_output_offsets").pop_back(); });
  check_refused("differ in length", [](auto& s) { array<std::uint64_t>(s, "dual_output_offsets").clear(); });
  for (const double bad : {-0.5, nan, infinity}) {
    check_refused("dual variable 1", [bad](auto& s) { array<double>(s, "duals")[1] = bad; });
  }
  check_refused("an example 12 of 12", [](auto& s) { array<std::uint64_t>(s, "dual_examples")[0] = 12; });
  check_refused("dual variable", [](auto& s) { array<std::uint64_t>(s, "dual_output_offsets").back() += 1; });
  check_refused("dual variable 0", [](auto& s) { array<std::uint64_t>(s, "dual_output_offsets")[0] = 1000000; });
  check_refused("wrong length", [](auto& s) { array<std::uint64_t>(s, "dual_output_offsets").back() -= 1; });
  check_refused("has label 9 of 3", [](auto& s) { array<std::uint8_t>(s, "dual_outputs")[0] = 9; });
  check_refused("twice", [](auto& s) {
    array<std::uint64_t>(s, "dual_examples").push_back(array<std::uint64_t>(s, "dual_examples").back());
    array<double>(s, "duals").push_back(1);
    auto& offsets = array<std::uint64_t>(s, "dual_output_offsets");
    auto& outputs = array<std::uint8_t>(s, "dual_outputs");
    const std::vector<std::uint8_t> last(outputs.begin() + static_cast<std::ptrdiff_t>(offsets[offsets.size() - 2]),
                                         outputs.end());
    outputs.insert(outputs.end(), last.begin(), last.end());
    offsets.push_back(outputs.size());
  });
  check_refused("block_threshold", [](auto& s) { s["block_threshold"] = std::vector<double>{nan}; });
  check_refused("block_threshold", [](auto& s) { s["block_threshold"] = std::vector<double>{}; });
  check_refused("random", [](auto& s) { s["random"] = std::vector<std::uint64_t>{1, 2}; });
}

TEST("serial_dual: duals of examples that have no cost are dropped") {
  const Problem problem = training_problem(45, 12, Kind::indicators);
  SerialDual source = make_engine(problem, 3);
  run_passes(source, 2);
  SerialDual target = make_engine(problem, 4, 0);
  target.import_state(source.export_state());
  StateArrays state = target.export_state();
  CHECK(array<double>(state, "duals").empty());
  CHECK(std::ranges::all_of(array<double>(state, "weights"), [](double weight) { return weight == 0; }));
}

TEST("serial_dual: a stop request ends a pass and a certificate, and says so") {
  const Problem problem = training_problem(46, 10, Kind::indicators);
  SerialDual engine = make_engine(problem, 1);
  run_passes(engine, 1);
  const std::vector<double> before(engine.weights()->values().begin(), engine.weights()->values().end());
  StopRequest stop = already_stopped();
  const auto report = engine.run_pass(stop);
  CHECK(report.stopped);
  CHECK(report.inferences == 0 && report.updates == 0);
  CHECK(problems::same_bits(engine.weights()->values(), before));
  CHECK(!engine.certify(1, stop).value().complete);
}
