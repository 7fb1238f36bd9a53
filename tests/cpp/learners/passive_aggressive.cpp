// Passive-aggressive learning against enumeration and the closed forms of its three variants.
#include "learners/passive_aggressive.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "engines/serial.hpp"
#include "problems.hpp"
#include "test.hpp"

using marginloom::PassiveAggressive;
using marginloom::Random;
using marginloom::SerialOnline;
using marginloom::StateArrays;
using marginloom::StopRequest;
using problems::Kind;
using problems::Problem;
using Variant = PassiveAggressive::Variant;

namespace {

constexpr Variant variants[] = {Variant::pa, Variant::pa_i, Variant::pa_ii};

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// All outputs tried, the step of the papers, and the sum of all weight vectors.
struct Reference {
  PassiveAggressive::Parameters parameters;
  std::vector<double> w;
  std::vector<double> sum;
  double steps = 0;
  std::size_t updates = 0;

  Reference(PassiveAggressive::Parameters parameters, std::size_t dimension)
      : parameters(parameters), w(dimension, 0.0), sum(dimension, 0.0) {}

  [[nodiscard]] double step_size(double violation, double norm, double cost) const {
    if (parameters.variant == Variant::pa) return violation / norm;
    if (parameters.variant == Variant::pa_i) return std::min(cost, violation / norm);
    return violation / (norm + 1 / (2 * cost));
  }

  void pass(const Problem& problem, const std::vector<double>& costs) {
    for (std::size_t i = 0; i < problem.size(); ++i, ++steps) {
      const auto best = problems::enumerate(problem, i, w, parameters.loss_augmented ? 1 : 0);
      const auto difference = problems::difference(problem, i, best.labels, w.size());
      const double violation = problems::loss(problem, i, best.labels) - dot(w, difference);
      const double norm = dot(difference, difference);
      if (norm > 0 && violation > 1e-9) {
        const double size = step_size(violation, norm, costs[i]);
        for (std::size_t k = 0; k < w.size(); ++k) w[k] += size * difference[k];
        ++updates;
      }
      for (std::size_t k = 0; k < w.size(); ++k) sum[k] += w[k];
    }
  }
};

Problem training_problem(Kind kind) {
  Random random(52);
  return problems::make_problem({.sentences = 15, .kind = kind, .start_end = true, .label_costs = true}, random);
}

// Powers of two, so that steps of that size lead to real ties, which the reference breaks as the task does.
std::vector<double> costs_of(const Problem& problem) {
  std::vector<double> costs(problem.size(), 1.0 / 16);
  costs[1] = 0.5;
  costs[2] = 1.0 / 128;
  return costs;
}

SerialOnline make_engine(const Problem& problem, PassiveAggressive::Parameters parameters, bool shuffle = false) {
  const auto task = problem.task();
  return {task,
          std::make_shared<PassiveAggressive>(task, costs_of(problem), parameters),
          problem.examples(),
          {.seed = 1, .shuffle = shuffle}};
}

std::vector<double> final_weights(const SerialOnline& engine) {
  std::vector<double> result(engine.task().dimension(), 99.0);
  engine.final_weights(result);
  return result;
}

}  // namespace

TEST("passive_aggressive: weights and their averages are those of a naive reference") {
  for (const Kind kind : {Kind::indicators, Kind::values, Kind::dense}) {
    const Problem problem = training_problem(kind);
    for (const Variant variant : variants) {
      for (const bool loss_augmented : {false, true}) {
        SerialOnline plain =
            make_engine(problem, {.variant = variant, .loss_augmented = loss_augmented, .averaged = false});
        SerialOnline averaged = make_engine(problem, {.variant = variant, .loss_augmented = loss_augmented});
        Reference reference({.variant = variant, .loss_augmented = loss_augmented}, plain.weights()->size());
        StopRequest never;
        for (int pass = 0; pass < 3; ++pass) {
          reference.updates = 0;
          reference.pass(problem, costs_of(problem));
          CHECK(plain.run_pass(never).updates == reference.updates);
          CHECK(averaged.run_pass(never).updates == reference.updates);
        }
        CHECK(reference.updates > 0);
        const auto found = final_weights(plain);
        const auto mean = final_weights(averaged);
        for (std::size_t k = 0; k < found.size(); ++k) {
          CHECK_NEAR(found[k], reference.w[k], 1e-9);
          CHECK_NEAR(mean[k], reference.sum[k] / reference.steps, 1e-9);
        }
      }
    }
  }
}

TEST("passive_aggressive: a step meets the margin exactly unless slack is cheaper") {
  const Problem problem = training_problem(Kind::values);
  const auto task = problem.task();
  const auto scratch = task->make_scratch();
  for (const Variant variant : variants) {
    std::size_t cut = 0;
    for (std::size_t i = 0; i < problem.size(); ++i) {
      const double cost = costs_of(problem)[i];
      PassiveAggressive learner(task, costs_of(problem), {.variant = variant, .loss_augmented = true});
      Random random(i);
      std::vector<double> w = problems::random_vector(task->dimension(), random, problems::uniform);
      marginloom::CandidateBatch batch;
      task->find(i, w, learner.search(), *scratch, batch);
      if (batch.size() == 0) continue;
      const auto difference =
          problems::difference(problem, i, problems::decoded(problem, batch[0].output), task->dimension());
      const double norm = dot(difference, difference);
      const double before = dot(w, difference);
      if (norm == 0) continue;
      CHECK(learner.step(batch, w) == 1);
      const double slack = batch[0].loss - dot(w, difference);
      const double step = (dot(w, difference) - before) / norm;
      cut += slack > 1e-9 ? 1 : 0;
      // At the minimum of 1/2 |w' - w|^2 + C loss(slack) the step is the loss's derivative, or within it at its kink.
      if (variant == Variant::pa) CHECK_NEAR(slack, 0, 1e-9);
      if (variant == Variant::pa_i) CHECK_NEAR(step, slack > 1e-9 ? cost : std::min(step, cost), 1e-9);
      if (variant == Variant::pa_ii) CHECK_NEAR(step, 2 * cost * slack, 1e-9);
    }
    CHECK((cut > 0) == (variant != Variant::pa));
  }
}

TEST("passive_aggressive: a restored run continues bit for bit") {
  const Problem problem = training_problem(Kind::values);
  for (const Variant variant : variants) {
    for (const bool averaged : {false, true}) {
      SerialOnline whole = make_engine(problem, {.variant = variant, .averaged = averaged}, true);
      StopRequest never;
      CHECK(!whole.run_pass(never).stopped);
      SerialOnline resumed = make_engine(problem, {.variant = variant, .averaged = averaged}, true);
      resumed.import_state(whole.export_state());
      for (int pass = 0; pass < 2; ++pass) {
        CHECK(whole.run_pass(never).updates == resumed.run_pass(never).updates);
        CHECK(resumed.export_state() == whole.export_state());
        CHECK(problems::same_bits(final_weights(resumed), final_weights(whole)));
      }
    }
  }
}

TEST("passive_aggressive: one cost per example is needed") {
  const Problem problem = training_problem(Kind::indicators);
  CHECK_THROWS(std::invalid_argument, PassiveAggressive(problem.task(), {1}, {}), "one cost per example");
}
