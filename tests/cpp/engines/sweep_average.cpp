// The mean of the weights over the inner passes of an iteration, and what the inner passes themselves leave out.
#include "engines/sweep_average.hpp"

#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "core/kernels.hpp"
#include "engines/serial.hpp"
#include "engines/shared.hpp"
#include "engines/worker.hpp"
#include "learners/dcd.hpp"
#include "problems.hpp"
#include "test.hpp"

using marginloom::Certificate;
using marginloom::Dcd;
using marginloom::Loss;
using marginloom::Random;
using marginloom::SerialDual;
using marginloom::Shared;
using marginloom::SharedOptions;
using marginloom::StateArrays;
using marginloom::StopRequest;
using marginloom::SweepAverage;
using problems::Problem;

namespace {

constexpr double cost = 0.5;

Problem training_problem() {
  Random random(60);
  return problems::make_problem({.sentences = 200, .longest = 3, .features = 6, .start_end = true}, random);
}

std::shared_ptr<Dcd> make_learner(const Problem& problem, int inner_passes, bool averaged) {
  const Dcd::Parameters parameters{.loss = Loss::hinge, .inner_passes = inner_passes, .averaged = averaged};
  return std::make_shared<Dcd>(problem.task(), std::vector<double>(problem.size(), cost), parameters);
}

SerialDual make_engine(const Problem& problem, int inner_passes, bool averaged) {
  const auto learner = make_learner(problem, inner_passes, averaged);
  return {problem.task(), learner, problem.examples(), {.seed = 3}};
}

std::vector<double> model_weights(const marginloom::Engine& engine) {
  std::vector<double> result(engine.task().dimension());
  engine.final_weights(result);
  return result;
}

double primal_by_definition(const Problem& problem, std::span<const double> w) {
  double primal = std::inner_product(w.begin(), w.end(), w.begin(), 0.0) / 2;
  for (std::size_t i = 0; i < problem.size(); ++i) {
    primal += cost * (problems::enumerate(problem, i, w, 1).score - problems::score(problem, i, problem.gold_of(i), w));
  }
  return primal;
}

void check_near(std::span<const double> a, std::span<const double> b) {
  CHECK(a.size() == b.size());
  for (std::size_t k = 0; k < a.size(); ++k) CHECK_NEAR(a[k], b[k], 1e-12);
}

}  // namespace

TEST("sweep_average: the model has the mean of the weights after each inner pass of the last iteration") {
  constexpr int inner_passes = 4;
  const Problem problem = training_problem();
  StopRequest never;
  std::vector<double> expected(problem.task()->dimension());
  for (int count = 1; count <= inner_passes; ++count) {  // the orders of a longer run begin with those of a shorter one
    SerialDual engine = make_engine(problem, count, false);
    engine.run_pass(never);
    CHECK(engine.weights_are_final());
    for (std::size_t k = 0; k < expected.size(); ++k) expected[k] += engine.weights()->values()[k] / inner_passes;
  }
  SerialDual engine = make_engine(problem, inner_passes, true);
  engine.run_pass(never);
  CHECK(!engine.weights_are_final());
  check_near(model_weights(engine), expected);
}

TEST("sweep_average: training takes no notice of the mean, and the certificate is of exactly it") {
  const Problem problem = training_problem();
  SerialDual averaged = make_engine(problem, 5, true);
  SerialDual last = make_engine(problem, 5, false);
  StopRequest never;
  for (int pass = 0; pass < 4; ++pass) {
    averaged.run_pass(never);
    last.run_pass(never);
    CHECK(problems::same_bits(averaged.weights()->values(), last.weights()->values()));
  }
  const Certificate certificate = averaged.certify(2, never).value();
  CHECK(!problems::same_bits(model_weights(averaged), averaged.weights()->values()));
  CHECK_NEAR(certificate.primal, primal_by_definition(problem, model_weights(averaged)), 1e-9);
  CHECK(certificate.dual == last.certify(1, never).value().dual);
  CHECK(certificate.dual <= certificate.primal);
}

TEST("sweep_average: the mean reaches the optimum") {
  const Problem problem = training_problem();
  SerialDual engine = make_engine(problem, 5, true);
  StopRequest never;
  double gap = 1;
  for (int pass = 0; pass < 500 && gap > 1e-5; ++pass) {
    engine.run_pass(never);
    const Certificate certificate = engine.certify(1, never).value();
    gap = (certificate.primal - certificate.dual) / certificate.primal;
  }
  CHECK(gap <= 1e-5);
}

TEST("sweep_average: a restored run has the same model, before and after its next pass") {
  const Problem problem = training_problem();
  SerialDual engine = make_engine(problem, 5, true);
  StopRequest never;
  engine.run_pass(never);
  const StateArrays saved = engine.export_state();
  CHECK(saved.contains("sweep_average"));
  SerialDual resumed = make_engine(problem, 5, true);
  resumed.import_state(saved);
  CHECK(resumed.export_state() == saved);
  CHECK(problems::same_bits(model_weights(resumed), model_weights(engine)));
  engine.run_pass(never);
  resumed.run_pass(never);
  CHECK(problems::same_bits(model_weights(resumed), model_weights(engine)));

  StateArrays broken = saved;
  std::get<std::vector<double>>(broken["sweep_average"])[0] = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS(std::invalid_argument, resumed.import_state(broken), "'sweep_average' of the state");
  broken = saved;
  std::get<std::vector<double>>(broken["sweep_average"]).pop_back();
  CHECK_THROWS(std::invalid_argument, resumed.import_state(broken), "another length than its weights");
  SerialDual plain = make_engine(problem, 5, false);
  plain.import_state(saved);
  CHECK(plain.weights_are_final());
}

TEST("sweep_average: more weights than steps are not averaged") {
  std::vector<double> values(100, 1.0);
  SweepAverage average;
  average.begin();
  average.note(values, 10);
  CHECK(average.empty());
  average.note(values, 15);  // 25 steps since the beginning
  CHECK(!average.empty());
  values.assign(100, 3.0);
  average.note(values, 25);
  std::vector<double> mean(100);
  average.write(mean);
  CHECK(mean == std::vector<double>(100, 2.0));
  average.begin();
  CHECK(average.empty());
}

TEST("sweep_average: threads that share the weights certify exactly the mean that they return") {
  const Problem problem = training_problem();
  SharedOptions options;
  options.threads = 4;
  Shared engine(problem.task(), make_learner(problem, 5, true), problem.examples(), {.seed = 5}, options);
  StopRequest never;
  double gap = 1;
  for (int pass = 0; pass < 1000 && gap > 1e-3; ++pass) {
    engine.run_pass(never);
    const Certificate certificate = engine.certify(1, never).value();
    CHECK_NEAR(certificate.primal, primal_by_definition(problem, model_weights(engine)), 1e-9);
    gap = (certificate.primal - certificate.dual) / certificate.primal;
    CHECK(gap >= -1e-12);
  }
  CHECK(gap <= 1e-3);
}
