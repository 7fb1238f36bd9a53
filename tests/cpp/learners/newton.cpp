// Newton's method in the dual: against a closed form, against dual coordinate descent, and its state.
#include "learners/newton.hpp"

#include <algorithm>
#include <cmath>

#include "dual_states.hpp"
#include "learners/dcd.hpp"

using dual_states::array;
using dual_states::not_a_number;
using dual_states::Training;
using marginloom::Certificate;
using marginloom::Dcd;
using marginloom::Loss;
using marginloom::Newton;
using marginloom::StateArrays;
using marginloom::StopRequest;
using problems::Kind;
using problems::Problem;

namespace {

constexpr Loss losses[] = {Loss::hinge, Loss::squared_hinge};

template <class Learner>
Certificate certify(Training<Learner>& training) {
  StopRequest never;
  return training.engine.certify(1, never).value();
}

// One token of some value with one of two labels: one candidate.
Problem one_candidate(float value) {
  Problem problem;
  problem.feature_count = 1;
  problem.label_count = 2;
  problem.features = {0};
  problem.values = {value};
  problem.tokens.push_back(1);
  problem.gold.push_back(1);
  problem.sentences.push_back(1);
  return problem;
}

}  // namespace

TEST("newton: one candidate has the dual of the closed form") {
  for (const float value : {0.25F, 1.0F, 8.0F}) {
    const Problem problem = one_candidate(value);
    const double squared_norm = 2.0 * value * value;
    for (const Loss loss : losses) {
      Training<Newton> training(problem, {.loss = loss});
      training.run(8);
      const double dual = loss == Loss::hinge ? std::min(dual_states::cost, 1 / squared_norm)
                                              : 1 / (squared_norm + 1 / (2 * dual_states::cost));
      StateArrays state = training.engine.export_state();
      CHECK(array<double>(state, "duals").size() == 1);
      CHECK_NEAR(array<double>(state, "duals")[0], dual, 1e-9 * dual);
      CHECK(problems::enumerate(problem, 0, training.engine.weights()->values(), 0).labels == problem.gold_of(0));
      const Certificate proof = certify(training);
      CHECK_NEAR(proof.primal, proof.dual, 1e-9 * proof.primal);
    }
  }
}

TEST("newton: the optimum is that of dual coordinate descent, and the dual never falls on the way") {
  for (const Kind kind : {Kind::indicators, Kind::values, Kind::dense}) {
    const Problem problem = dual_states::problem(kind);
    for (const Loss loss : losses) {
      Training<Newton> newton(problem, {.loss = loss});
      double last = 0;
      for (int pass = 0; pass < 25; ++pass) {
        newton.run(1);
        const Certificate proof = certify(newton);
        CHECK(proof.complete && proof.exact);
        CHECK(proof.dual >= last - 1e-9 * std::abs(last));
        CHECK(proof.dual <= proof.primal * (1 + 1e-9));
        last = proof.dual;
      }
      Training<Dcd> descent(problem, {.loss = loss, .inner_passes = 20});
      descent.run(400);
      const Certificate expected = certify(descent);
      CHECK(expected.primal - expected.dual <= 1e-6 * expected.primal);
      const Certificate proof = certify(newton);
      CHECK_NEAR(proof.primal, expected.primal, 1e-5 * expected.primal);
      CHECK_NEAR(proof.dual, expected.dual, 1e-5 * expected.dual);
    }
  }
}

TEST("newton: a pass that is cut short leaves weights that belong to the duals") {
  const Problem problem = dual_states::problem();
  for (const Loss loss : losses) {
    for (int asked = 0; asked < 40; asked += 3) {
      Training<Newton> training(problem, {.loss = loss});
      training.run(1);
      int left = asked;
      StopRequest stop([&] { return left-- <= 0; }, StopRequest::Time(0));
      (void)training.engine.run_pass(stop);
      const auto weights = training.engine.weights()->values();
      const std::vector<double> before(weights.begin(), weights.end());
      std::vector<double> recomputed(before.size());
      training.learner->write_weights(recomputed);
      for (std::size_t k = 0; k < before.size(); ++k) CHECK_NEAR(before[k], recomputed[k], 1e-12);
      const Certificate proof = certify(training);
      CHECK(proof.dual <= proof.primal * (1 + 1e-9));
    }
  }
}

TEST("newton: a restored run continues bit for bit") {
  for (const Loss loss : losses) {
    dual_states::check_continues<Newton>({.loss = loss});
    dual_states::check_continues<Newton>({.loss = loss, .memory = 1});
  }
}

TEST("newton: broken states are refused and change nothing, and a state of dual coordinate descent is taken") {
  const Problem problem = dual_states::problem();
  const auto refused = [](const char* text, const std::function<void(StateArrays&)>& damage) {
    dual_states::check_refused<Newton>({}, text, damage);
  };
  for (const double bad : {0.0, -1.0, not_a_number, std::numeric_limits<double>::infinity()}) {
    refused("proximal_reach", [bad](auto& s) { array<double>(s, "proximal_reach")[0] = bad; });
  }
  refused("proximal_reach", [](auto& s) { array<double>(s, "proximal_reach").push_back(1); });
  refused("dual variable 0", [](auto& s) { array<double>(s, "duals")[0] = -1; });
  refused("weights", [](auto& s) { s.erase("weights"); });

  Training<Dcd> descent(problem, {.inner_passes = 5});
  descent.run(3);
  const Certificate reached = certify(descent);
  Training<Newton> newton(problem, {});
  newton.engine.import_state(descent.engine.export_state());
  newton.run(1);
  CHECK(certify(newton).dual >= reached.dual * (1 - 1e-9));
}
