#include "learners/mira.hpp"

#include <cmath>
#include <numeric>

#include "engines/serial.hpp"
#include "problems.hpp"
#include "test.hpp"

using marginloom::Candidate;
using marginloom::CandidateBatch;
using marginloom::Mira;
using marginloom::Random;
using problems::Kind;
using problems::Problem;

namespace {

// What one step over the candidates of a batch leads to, and the batch itself written out.
struct Step {
  std::vector<double> before;
  std::vector<double> after;
  std::vector<std::vector<double>> differences;
  std::vector<double> losses;
  std::vector<std::size_t> owners;
  std::size_t updates = 0;
};

Problem batch_problem(Kind kind) {
  Random random(71);
  return problems::make_problem({.sentences = 6, .longest = 4, .labels = 3, .kind = kind, .label_costs = true}, random);
}

Step make_step(const Problem& problem, double cost, const Mira::Parameters& parameters, std::uint64_t seed) {
  const auto task = problem.task();
  Mira learner(task, std::vector<double>(problem.size(), cost), parameters);
  Random random(seed);
  Step result;
  // The same weights whether a dense copy pads its rows or not: both have the same layout.
  result.before = problems::random_vector(task->dimension(), random, problems::uniform);
  const auto scratch = task->make_scratch();
  CandidateBatch batch;
  for (const std::size_t i : problem.examples()) task->find(i, result.before, learner.search(), *scratch, batch);
  for (std::size_t k = 0; k < batch.size(); ++k) {
    const Candidate candidate = batch[k];
    result.differences.push_back(problems::difference(problem, candidate.example,
                                                      problems::decoded(problem, candidate.output), task->dimension()));
    result.losses.push_back(candidate.loss);
    result.owners.push_back(candidate.example);
  }
  result.after = result.before;
  result.updates = learner.step(batch, result.after);
  return result;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// 1/2 |w - w_0|^2 + sum_i C max(0, max_j [loss_j - w.d_j])
double batch_primal(const Step& step, const std::vector<double>& w, double cost, std::size_t examples) {
  double value = 0;
  for (std::size_t k = 0; k < w.size(); ++k) value += (w[k] - step.before[k]) * (w[k] - step.before[k]) / 2;
  std::vector<double> slacks(examples, 0.0);
  for (std::size_t j = 0; j < step.losses.size(); ++j) {
    double& slack = slacks[step.owners[j]];
    slack = std::max(slack, step.losses[j] - dot(w, step.differences[j]));
  }
  for (const double slack : slacks) value += cost * slack;
  return value;
}

}  // namespace

TEST("mira: a step over a batch is a minimum of its programme, stored and implicit") {
  for (const Kind kind : {Kind::indicators, Kind::values, Kind::dense}) {
    const Problem problem = batch_problem(kind);
    for (const bool loss_augmented : {false, true}) {
      for (const double cost : {0.01, 0.1, 1.0}) {
        const Step step =
            make_step(problem, cost,
                      {.k_best = 6, .loss_augmented = loss_augmented, .qp_tolerance = 1e-10, .qp_sweeps = 100000}, 5);
        CHECK(step.losses.size() > 8);
        CHECK(step.updates > 2);
        const double best = batch_primal(step, step.after, cost, problem.size());
        CHECK(best < batch_primal(step, step.before, cost, problem.size()));
        // A convex function is at its minimum where no step to a random neighbour, small or large, goes down.
        Random random(9);
        for (int trial = 0; trial < 300; ++trial) {
          std::vector<double> w = step.after;
          const double size = std::pow(10.0, -static_cast<double>(trial % 6));
          for (const auto& difference : step.differences) {
            const double share = size * problems::uniform(random);
            for (std::size_t k = 0; k < w.size(); ++k) w[k] += share * difference[k];
          }
          CHECK(batch_primal(step, w, cost, problem.size()) >= best - 1e-9);
        }
      }
    }
  }
}

TEST("mira: implicit differences give the weights that stored ones do") {
  const Problem stored = batch_problem(Kind::values);
  const Problem dense = problems::dense_copy(stored);
  const Mira::Parameters parameters{.k_best = 4, .qp_tolerance = 1e-10, .qp_sweeps = 100000};
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const Step one = make_step(stored, 0.3, parameters, seed);
    const Step other = make_step(dense, 0.3, parameters, seed);
    CHECK(one.losses == other.losses);
    for (std::size_t k = 0; k < one.after.size(); ++k) CHECK_NEAR(one.after[k], other.after[k], 1e-8);
  }
}

TEST("mira: only violated candidates are kept") {
  const Problem problem = batch_problem(Kind::values);
  const Step plain = make_step(problem, 0.3, {.k_best = 8}, 5);
  for (std::size_t j = 0; j < plain.losses.size(); ++j) CHECK(dot(plain.before, plain.differences[j]) <= 1e-6);
  const Step augmented = make_step(problem, 0.3, {.k_best = 8, .loss_augmented = true}, 5);
  std::size_t right = 0;  // predictions that are right, by too small a margin
  for (std::size_t j = 0; j < augmented.losses.size(); ++j) {
    CHECK(augmented.losses[j] - dot(augmented.before, augmented.differences[j]) > 0);
    right += dot(augmented.before, augmented.differences[j]) > 0 ? 1 : 0;
  }
  CHECK(right > 0);
}

TEST("mira: margins are met without slack where that can be, and it ends where it cannot") {
  const Problem problem = batch_problem(Kind::values);
  const Mira::Parameters unbounded{.unbounded = true, .qp_tolerance = 1e-8, .qp_sweeps = 100000};
  const Step step = make_step(problem, 0.3, unbounded, 5);
  CHECK(step.updates > 2);
  for (std::size_t j = 0; j < step.losses.size(); ++j) {
    CHECK_NEAR(std::min(dot(step.after, step.differences[j]) - step.losses[j], 0.0), 0.0, 1e-6);
  }

  // The same sentence under two labels: no weights can give both their margin.
  Problem twice;
  twice.feature_count = 1;
  twice.label_count = 2;
  for (std::size_t i = 0; i < 2; ++i) {
    twice.features.push_back(0);
    twice.tokens.push_back(i + 1);
    twice.gold.push_back(static_cast<marginloom::LabelIndex>(i));
    twice.sentences.push_back(i + 1);
  }
  const auto task = twice.task();
  Mira learner(task, {1, 1}, unbounded);
  const auto scratch = task->make_scratch();
  CandidateBatch batch;
  std::vector<double> w(task->dimension(), 0.0);
  for (const std::size_t i : {0U, 1U}) task->find(i, w, {.k = 2, .loss_scale = 1}, *scratch, batch);
  CHECK(batch.size() == 2);
  learner.step(batch, w);
  for (const double value : w) CHECK(std::isfinite(value) && std::abs(value) < 10);
}

TEST("mira: candidates without a difference are skipped, and time goes on without candidates") {
  Problem empty;  // one token without features: every output has the same feature vector
  empty.feature_count = 1;
  empty.label_count = 2;
  empty.tokens.push_back(0);
  empty.gold.push_back(1);
  empty.sentences.push_back(1);
  const auto task = empty.task();
  for (const bool unbounded : {false, true}) {
    Mira learner(task, {1}, {.unbounded = unbounded});
    std::vector<double> w(task->dimension(), 0.5);
    const auto scratch = task->make_scratch();
    CandidateBatch batch;
    task->find(0, w, learner.search(), *scratch, batch);
    CHECK(batch.size() == 1);
    CHECK(batch[0].squared_norm == 0);
    CHECK(learner.step(batch, w) == 0);
    batch.clear();
    CHECK(learner.step(batch, w) == 0);
    CHECK(w == std::vector<double>(task->dimension(), 0.5));
    CHECK(std::get<std::vector<std::uint64_t>>(learner.export_state()["average_ticks"])[0] == 2);
  }
}
