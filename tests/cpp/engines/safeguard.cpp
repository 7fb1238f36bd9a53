// Steps of several threads on the same weights: the dual does not fall, and training ends at the optimum.
#include "engines/safeguard.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "core/kernels.hpp"
#include "engines/serial.hpp"
#include "engines/shared.hpp"
#include "learners/dcd.hpp"
#include "learners/fsmo.hpp"
#include "problems.hpp"
#include "test.hpp"

using marginloom::Block;
using marginloom::BlockLearner;
using marginloom::Dcd;
using marginloom::Fsmo;
using marginloom::Loss;
using marginloom::Random;
using marginloom::Safeguard;
using marginloom::SerialDual;
using marginloom::Shared;
using marginloom::SharedOptions;
using marginloom::StopRequest;
using problems::Kind;
using problems::Problem;

namespace {

constexpr double cost = 0.1;
using SharedTask = std::shared_ptr<const marginloom::Task>;

std::shared_ptr<Dcd> dcd(const SharedTask& task, Loss loss) {
  return std::make_shared<Dcd>(task, std::vector<double>(task->size(), cost),
                               Dcd::Parameters{.loss = loss, .inner_passes = 2, .sweeps = 3});
}

double squared_norm(std::span<const double> w) {
  return marginloom::kernels().squared_norm(w.data(), w.size());
}

std::vector<std::vector<double>> all_duals(BlockLearner& learner) {
  std::vector<std::vector<double>> result;
  for (std::size_t i = 0; i < learner.blocks().size(); ++i) {
    auto& duals = result.emplace_back();
    for (const Block::Row& row : learner.blocks()[i].rows()) duals.push_back(row.dual);
  }
  return result;
}

// Sets the duals of all blocks and the weights that belong to them; returns the dual.
double set_duals(BlockLearner& learner, const std::vector<std::vector<double>>& duals, std::vector<double>& w) {
  for (std::size_t i = 0; i < duals.size(); ++i) {
    if (!duals[i].empty()) learner.settle(i, duals[i], {}, true);
  }
  learner.write_weights(w);
  return learner.dual(squared_norm(w));
}

// A learner after a few passes, and its weights.
struct Trained {
  explicit Trained(const Problem& problem, Loss loss) : learner(dcd(problem.task(), loss)) {
    SerialDual engine(problem.task(), learner, problem.examples(), {.seed = 1});
    StopRequest never;
    for (int pass = 0; pass < 5; ++pass) engine.run_pass(never);
    w.assign(engine.weights()->values().begin(), engine.weights()->values().end());
  }
  std::shared_ptr<Dcd> learner;
  std::vector<double> w;
};

Problem small_problem(std::uint64_t seed, Kind kind, std::size_t features = 15) {
  Random random(seed);
  return problems::make_problem({.sentences = 25, .longest = 5, .features = features, .kind = kind}, random);
}

// Trains with far more threads than there are cores, which are put aside at random between a search and its step.
// The dual must not fall on the way to the certified optimum.
void train_with_stale_steps(const Problem& problem, const std::shared_ptr<BlockLearner>& learner, std::uint64_t seed) {
  std::atomic<std::uint64_t> calls{seed};
  SharedOptions options;
  options.threads = 16;
  options.at_example = [&] {
    Random random(calls.fetch_add(1));
    for (std::uint64_t turn = random.below(30); turn > 0; --turn) std::this_thread::yield();
  };
  Shared engine(problem.task(), learner, problem.examples(), {.seed = seed}, options);
  StopRequest never;
  double dual = 0;
  double gap = 1;
  for (int pass = 0; pass < 1000 && gap > 1e-3; ++pass) {
    const auto report = engine.run_pass(never);
    CHECK(*report.dual >= dual - 1e-9 * dual);
    dual = *report.dual;
    if (pass % 5 != 4) continue;
    const auto certificate = engine.certify(1, never);
    CHECK_NEAR(certificate->dual, dual, 1e-9 * dual);
    gap = (certificate->primal - certificate->dual) / certificate->primal;
    CHECK(gap >= -1e-9);
  }
  CHECK(gap <= 1e-3);
}

}  // namespace

TEST("safeguard: a dual that fell goes back to the best point between the two") {
  for (const Kind kind : {Kind::values, Kind::dense}) {
    for (const Loss loss : {Loss::squared_hinge, Loss::hinge}) {
      for (std::uint64_t seed = 0; seed < 5; ++seed) {
        const Problem problem = small_problem(seed, kind);
        Trained trained(problem, loss);
        BlockLearner& learner = *trained.learner;
        Random random(seed);
        const auto examples = problem.examples();
        const double before = learner.dual(squared_norm(trained.w));
        Safeguard guard(learner, 2, 2);
        guard.begin(trained.w, examples, random);
        for (const std::size_t i : examples) guard.note(i, i % 2);
        const auto start = all_duals(learner);
        auto end = start;  // some rise, too far together; some fall to 0
        for (auto& duals : end) {
          for (double& dual : duals) dual *= random.below(3) == 0 ? 0 : loss == Loss::hinge ? 1 : 4;
        }
        double after = set_duals(learner, end, trained.w);
        if (after >= before) continue;
        double best = 0;  // by trying
        for (int t = 0; t <= 200; ++t) {
          auto between = start;
          for (std::size_t i = 0; i < start.size(); ++i) {
            for (std::size_t j = 0; j < start[i].size(); ++j) {
              between[i][j] += t / 200.0 * (end[i][j] - start[i][j]);
            }
          }
          best = std::max(best, set_duals(learner, between, trained.w));
        }
        after = set_duals(learner, end, trained.w);
        const double norm = guard.check(squared_norm(trained.w), 1.0, true, trained.w);
        CHECK_NEAR(norm, squared_norm(trained.w), 1e-12);
        CHECK(learner.dual(norm) >= before * (1 - 1e-12));
        CHECK(learner.dual(norm) >= after);
        CHECK_NEAR(learner.dual(norm), best, 1e-4 * best);
        CHECK(learner.dual(norm) >= best * (1 - 1e-12));
        std::vector<double> expected(trained.w.size());
        learner.write_weights(expected);
        CHECK(problems::same_bits(expected, trained.w));
        CHECK(guard.damping().most > 1);
      }
    }
  }
}

TEST("safeguard: candidates with a dual at a check stay until the next one") {
  const Problem problem = small_problem(3, Kind::values);
  Trained trained(problem, Loss::squared_hinge);
  BlockLearner& learner = *trained.learner;
  Random random(1);
  const auto start = all_duals(learner);
  auto none = start;
  for (auto& duals : none) std::ranges::fill(duals, 0.0);
  Safeguard guard(learner, 2, 2);
  guard.begin(trained.w, problem.examples(), random);
  for (const std::size_t i : problem.examples()) guard.note(i, 0);
  (void)set_duals(learner, none, trained.w);
  std::size_t held = 0;
  for (std::size_t i = 0; i < start.size(); ++i) {
    CHECK(learner.blocks()[i].size() == start[i].size());
    held += start[i].size();
  }
  CHECK(held > 10);
  (void)guard.check(squared_norm(trained.w), 0, true, trained.w);  // all the way back
  const auto restored = all_duals(learner);
  for (std::size_t i = 0; i < start.size(); ++i) {
    for (std::size_t j = 0; j < start[i].size(); ++j) CHECK_NEAR(restored[i][j], start[i][j], 1e-6);
  }
  (void)set_duals(learner, none, trained.w);
  CHECK(learner.blocks().active() == 0);
}

TEST("safeguard: only weights that many supports share count more often") {
  const Problem problem = small_problem(5, Kind::values, 200);
  Trained trained(problem, Loss::squared_hinge);
  Random random(1);
  Safeguard guard(*trained.learner, 4, 4);
  CHECK(guard.damping().most == 1 && guard.damping().of(0) == 1);
  for (int pass = 0; pass < 2; ++pass) {
    guard.begin(trained.w, problem.examples(), random);
    (void)guard.check(squared_norm(trained.w), 1.0, true, trained.w);  // nothing was gained of it
  }
  guard.begin(trained.w, problem.examples(), random);
  const auto damping = guard.damping();
  CHECK(damping.most == 1.5 * 1.5);
  std::vector<std::size_t> counts(trained.w.size());
  for (const std::size_t i : problem.examples()) {
    for (const auto k : trained.learner->blocks()[i].support()) ++counts[k];
  }
  const auto rarest = std::ranges::min_element(counts) - counts.begin();
  const auto busiest = std::ranges::max_element(counts) - counts.begin();
  CHECK(counts[static_cast<std::size_t>(busiest)] > 10);
  CHECK(damping.of(static_cast<marginloom::WeightIndex>(busiest)) == damping.most);
  CHECK(damping.of(static_cast<marginloom::WeightIndex>(rarest)) == 1);
}

TEST("safeguard: where blocks do without their rows all weights count alike") {
  const Problem problem = small_problem(5, Kind::values);
  const auto task = problem.task();
  Dcd learner(task, std::vector<double>(task->size(), cost), Dcd::Parameters{.memory = 1});
  std::vector<double> w(task->dimension());
  Random random(1);
  Safeguard guard(learner, 4, 4);
  for (int pass = 0; pass < 3; ++pass) {
    guard.begin(w, problem.examples(), random);
    CHECK(guard.damping().most >= 1 && guard.damping().of(0) == guard.damping().most);
    (void)guard.check(0, 1.0, true, w);  // nothing was gained of it
  }
  CHECK(guard.damping().most > 1);
}

TEST("safeguard: sixteen threads with stale steps end at the certified optimum, and the dual never falls") {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    for (const Kind kind : {Kind::values, Kind::dense}) {
      for (const std::size_t features : {std::size_t{2}, std::size_t{15}}) {  // with two, every weight is hot
        const Problem problem = small_problem(seed, kind, features);
        const auto task = problem.task();
        for (const Loss loss : {Loss::squared_hinge, Loss::hinge}) {
          train_with_stale_steps(problem, dcd(task, loss), seed);
        }
        const Fsmo::Parameters parameters{.batch = 1 + seed % 3 * 10};
        const std::vector<double> costs(task->size(), cost);
        train_with_stale_steps(problem, std::make_shared<Fsmo>(task, costs, parameters), seed);
      }
    }
  }
}
