#include "learners/dcd.hpp"

#include <algorithm>
#include <latch>
#include <limits>
#include <stdexcept>
#include <thread>

#include "problems.hpp"
#include "test.hpp"
#include "visits.hpp"

using marginloom::Dcd;
using marginloom::Random;
using marginloom::StateArrays;
using marginloom::Visit;
using marginloom::WeightWriter;
using problems::Kind;
using problems::Problem;

namespace {

std::vector<double> random_costs(std::size_t size, Random& random) {
  std::vector<double> costs(size);
  for (double& cost : costs) cost = 0.25 + 0.25 * static_cast<double>(random.below(4));
  return costs;
}

struct Definition {
  double dual = 0;
  std::vector<double> w;
};

// The dual objective and its weights, from the saved duals and the definition.
Definition by_definition(const Problem& problem, const std::vector<double>& costs, const StateArrays& state) {
  const auto& examples = marginloom::state_array<std::uint64_t>(state, "dual_examples");
  const auto& duals = marginloom::state_array<double>(state, "duals");
  const auto& offsets = marginloom::state_array<std::uint64_t>(state, "dual_output_offsets");
  const auto& outputs = marginloom::state_array<std::uint8_t>(state, "dual_outputs");
  Definition result{0, std::vector<double>(problem.task()->dimension(), 0.0)};
  std::vector<double> sums(problem.size(), 0.0);
  for (std::size_t j = 0; j < duals.size(); ++j) {
    const std::size_t i = examples[j];
    const auto bytes = std::span(outputs).subspan(offsets[j], offsets[j + 1] - offsets[j]);
    const auto labels = problems::decoded(problem, bytes);
    const auto difference = problems::difference(problem, i, labels, result.w.size());
    for (std::size_t k = 0; k < result.w.size(); ++k) result.w[k] += duals[j] * difference[k];
    result.dual += duals[j] * problems::loss(problem, i, labels);
    sums[i] += duals[j];
  }
  for (const double value : result.w) result.dual -= value * value / 2;
  for (std::size_t i = 0; i < sums.size(); ++i) result.dual -= sums[i] * sums[i] / (4 * costs[i]);
  return result;
}

void check_near(std::span<const double> found, std::span<const double> expected, double tolerance) {
  CHECK(found.size() == expected.size());
  for (std::size_t k = 0; k < found.size(); ++k) CHECK_NEAR(found[k], expected[k], tolerance);
}

void find_and_absorb(const Problem& problem, Dcd& learner, std::span<const double> w) {
  const auto task = problem.task();
  const auto scratch = task->make_scratch();
  Visit visit;
  marginloom::FunctionSink sink(
      [&](const marginloom::Candidate& candidate) { learner.absorb(candidate, visit.scratch); });
  for (std::size_t i = 0; i < problem.size(); ++i) task->find(i, w, {}, *scratch, sink);
}

}  // namespace

TEST("dcd: the gain of a step is the change of the dual, and w stays what the duals say") {
  Random random(30);
  for (const Kind kind : {Kind::indicators, Kind::values, Kind::dense}) {
    const Problem problem =
        problems::make_problem({.sentences = 6, .kind = kind, .start_end = true, .label_costs = true}, random);
    const auto task = problem.task();
    const auto costs = random_costs(problem.size(), random);
    Dcd learner(task, costs, {});
    std::vector<double> w(task->dimension(), 0.0);
    Visit visit = visits::seeded(1);
    std::size_t updates = 0;
    double dual = 0;
    double gains = 0;
    for (int pass = 0; pass < 8; ++pass) {
      find_and_absorb(problem, learner, w);
      for (std::size_t i = 0; i < problem.size(); ++i) {
        const marginloom::Step step = learner.visit(i, w, WeightWriter{w.data()}, visit, true);
        const double gain = step.gain;
        updates += step.updates;
        const Definition expected = by_definition(problem, costs, learner.export_state());
        CHECK(gain >= 0);
        CHECK_NEAR(gain, expected.dual - dual, 1e-11);
        check_near(w, expected.w, 1e-12);
        dual = expected.dual;
        gains += gain;
        double squared_norm = 0;
        for (const double value : expected.w) squared_norm += value * value;
        CHECK_NEAR(learner.dual(squared_norm), dual, 1e-11);
        std::vector<double> written(w.size(), 99.0);
        learner.write_weights(written);
        check_near(written, expected.w, 1e-12);
      }
    }
    CHECK(gains > 0.1);
    CHECK(updates > 0);
    CHECK(learner.held().candidates == marginloom::state_array<double>(learner.export_state(), "duals").size());
  }
}

TEST("dcd: a block without candidates does nothing, one whose duals end at 0 is dropped") {
  Random random(31);
  const Problem problem = problems::make_problem({.start_end = true}, random);
  const auto task = problem.task();
  Dcd learner(task, std::vector<double>(problem.size(), 1.0), {});
  std::vector<double> w(task->dimension(), 0.0);
  Visit visit = visits::seeded(1);
  const auto check_idle = [&](std::size_t i, std::vector<double>& weights) {
    const auto before = weights;
    const marginloom::Step step = learner.visit(i, weights, WeightWriter{weights.data()}, visit, true);
    CHECK(step.gain == 0 && step.updates == 0);
    CHECK(learner.blocks()[i].empty());
    CHECK(problems::same_bits(weights, before));
  };
  for (std::size_t i = 0; i < problem.size(); ++i) check_idle(i, w);
  find_and_absorb(problem, learner, w);
  CHECK(learner.held().candidates > 0);
  // Under weights that already hold every margin by far, the step of a new candidate is clipped at 0.
  std::vector<double> right(task->dimension(), 0.0);
  for (std::size_t i = 0; i < problem.size(); ++i) {
    if (learner.blocks()[i].empty()) continue;
    marginloom::FunctionSink sink(
        [&](const auto& candidate) { add_difference(*task, candidate, 1000, WeightWriter{right.data()}); });
    task->find(i, w, {}, *task->make_scratch(), sink);
    check_idle(i, right);
    std::ranges::fill(right, 0.0);
  }
  CHECK(learner.held().candidates == 0);
}

TEST("dcd: plain and atomic writers take the same steps when one thread works alone") {
  Random random(32);
  for (const Kind kind : {Kind::values, Kind::dense}) {
    for (const marginloom::Loss loss : {marginloom::Loss::squared_hinge, marginloom::Loss::hinge}) {
      const Problem problem = problems::make_problem({.sentences = 12, .kind = kind}, random);
      const auto task = problem.task();
      const auto costs = random_costs(problem.size(), random);
      Dcd by_plain(task, costs, {.loss = loss});
      Dcd by_atomic(task, costs, {.loss = loss});
      std::vector<double> plain(task->dimension(), 0.0);
      std::vector<double> atomic = plain;
      Visit pair[2] = {visits::seeded(5), visits::seeded(5)};
      for (int pass = 0; pass < 5; ++pass) {
        find_and_absorb(problem, by_plain, plain);
        find_and_absorb(problem, by_atomic, plain);
        for (std::size_t i = 0; i < problem.size(); ++i) {
          const auto expected = by_plain.visit(i, plain, WeightWriter{plain.data()}, pair[0], true);
          const auto found = by_atomic.visit(i, atomic, WeightWriter{atomic.data(), true}, pair[1], true);
          CHECK(found.gain == expected.gain && found.updates == expected.updates);
          check_near(atomic, plain, 1e-12);  // the additions differ in their order
          atomic = plain;
        }
      }
      CHECK(by_atomic.export_state() == by_plain.export_state());
      CHECK(by_plain.held().candidates > 0);
    }
  }
}

TEST("dcd: steps with more damping are shorter") {
  Random random(33);
  for (const Kind kind : {Kind::values, Kind::dense}) {
    const Problem problem = problems::make_problem({.sentences = 12, .kind = kind, .start_end = true}, random);
    const auto task = problem.task();
    double previous = std::numeric_limits<double>::infinity();
    for (const double damping : {1.0, 2.0, 8.0}) {
      Dcd learner(task, std::vector<double>(problem.size(), 1.0), {});
      std::vector<double> w(task->dimension(), 0.0);
      find_and_absorb(problem, learner, w);
      Visit visit = visits::seeded(1, damping);
      std::size_t i = 0;
      while (learner.blocks()[i].empty()) ++i;
      learner.visit(i, w, WeightWriter{w.data()}, visit, true);
      const StateArrays state = learner.export_state();
      const auto& duals = marginloom::state_array<double>(state, "duals");
      CHECK(duals[0] > 0 && duals[0] < previous);
      previous = duals[0];
      std::vector<double> written(w.size(), 0.0);
      learner.write_weights(written);
      check_near(w, written, 1e-12);  // the weights move by the steps, however cautious these were
    }
  }
}

TEST("dcd: threads that improve disjoint examples on shared weights lose nothing") {
  constexpr std::size_t threads = 4;
  Random random(34);
  for (const Kind kind : {Kind::indicators, Kind::dense}) {
    const Problem problem = problems::make_problem({.sentences = 80, .kind = kind, .start_end = true}, random);
    const auto task = problem.task();
    Dcd learner(task, std::vector<double>(problem.size(), 0.1), {});
    std::vector<double> w(task->dimension(), 0.0);
    std::vector<Visit> each(threads);
    std::vector<std::size_t> updates(threads, 0);
    for (std::size_t thread = 0; thread < threads; ++thread) each[thread].asked.random = Random(thread);
    for (int pass = 0; pass < 5; ++pass) {
      find_and_absorb(problem, learner, w);
      std::latch start(threads);
      std::vector<std::jthread> team;
      for (std::size_t thread = 0; thread < threads; ++thread) {
        team.emplace_back([&, thread] {
          start.arrive_and_wait();
          for (int round = 0; round < 10; ++round) {
            for (std::size_t i = thread; i < problem.size(); i += threads) {
              updates[thread] += learner.visit(i, w, WeightWriter{w.data(), true}, each[thread], true).updates;
            }
          }
        });
      }
    }
    std::vector<double> written(w.size(), 0.0);
    learner.write_weights(written);
    check_near(w, written, 1e-10);
    CHECK(learner.held().candidates > 20);
    CHECK(std::ranges::none_of(updates, [](std::size_t count) { return count == 0; }));
  }
}

TEST("dcd: the threshold shrinks with the gap as its bound says, and never exceeds delta") {
  Random random(35);
  const Problem problem = problems::make_problem({}, random);
  const auto costs = random_costs(problem.size(), random);
  Dcd learner(problem.task(), costs, {.delta = 0.5});
  for (std::size_t i = 0; i < problem.size(); ++i) CHECK(learner.search(i).min_violation == 0.5);
  std::vector<double> w(problem.task()->dimension(), 0.0);
  find_and_absorb(problem, learner, w);
  Visit visit = visits::seeded(1);
  for (std::size_t i = 0; i < problem.size(); ++i) learner.visit(i, w, WeightWriter{w.data()}, visit, true);
  std::vector<double> slacks(problem.size());
  for (std::size_t i = 0; i < problem.size(); ++i) slacks[i] = learner.search(i).min_violation - 0.5;
  CHECK(*std::ranges::max_element(slacks) > 0);
  for (const double gap : {0.1, 0.001, 1e-6}) {
    learner.note_gap(10 + gap, 10);
    double bound = 0;
    for (std::size_t i = 0; i < problem.size(); ++i) {
      bound += costs[i] * (learner.search(i).min_violation * learner.search(i).min_violation - slacks[i] * slacks[i]);
    }
    CHECK_NEAR(bound, gap / 10, 1e-6 * gap + 1e-14);
  }
  learner.note_gap(10, 10);  // nothing but rounding is left: a threshold of 0 would chase it
  for (std::size_t i = 0; i < problem.size(); ++i) CHECK(learner.search(i).min_violation > slacks[i]);
  learner.note_gap(1e9, 0);
  for (std::size_t i = 0; i < problem.size(); ++i) CHECK_NEAR(learner.search(i).min_violation - slacks[i], 0.5, 1e-15);
}

TEST("dcd: one cost per example is needed") {
  Random random(36);
  const Problem problem = problems::make_problem({}, random);
  CHECK_THROWS(std::invalid_argument, Dcd(problem.task(), std::vector<double>{1, 2}, {}), "one cost per example");
}
