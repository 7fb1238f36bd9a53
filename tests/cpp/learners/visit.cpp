// Gather, solve, scatter: on blocks of stored and of implicit differences, against the definitions.
#include "learners/visit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "learners/blocks.hpp"
#include "learners/dcd.hpp"
#include "learners/fsmo.hpp"
#include "problems.hpp"
#include "tasks/multiclass/multiclass.hpp"
#include "test.hpp"
#include "visits.hpp"

using namespace marginloom;
using problems::Kind;
using problems::Problem;

namespace {

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Blocks with several candidates and random duals each, and their differences written out.
struct Setting {
  Problem problem;
  std::shared_ptr<const SequenceTask> task;
  Blocks blocks;
  std::vector<double> w;
  Visit visit = visits::seeded(9);

  Setting(Kind kind, bool products, Random& random)
      : problem(make_problem(kind, random)), task(problem.task()), blocks(task, Blocks::unlimited, products) {
    const auto scratch = task->make_scratch();
    for (int round = 0; round < 6; ++round) {
      const auto direction = problems::random_vector(task->dimension(), random, problems::uniform);
      FunctionSink absorb([&](const Candidate& candidate) { blocks.absorb(candidate, visit.scratch); });
      for (const std::size_t i : problem.examples()) task->find(i, direction, {}, *scratch, absorb);
    }
    for (const std::size_t i : problem.examples()) {
      for (auto& row : blocks[i].rows()) row.dual = random.below(3) == 0 ? 0 : 0.1 * (1 + problems::uniform(random));
    }
    w = problems::random_vector(task->dimension(), random, problems::uniform);
  }

  static Problem make_problem(Kind kind, Random& random) {
    return problems::make_problem({.sentences = 6, .longest = 5, .kind = kind, .label_costs = true}, random);
  }
  [[nodiscard]] std::vector<std::vector<double>> differences(std::size_t i, const Block& block) const {
    std::vector<std::vector<double>> result;
    for (const auto& row : block.rows()) {
      const auto labels = problems::decoded(problem, block.output(row));
      result.push_back(problems::difference(problem, i, labels, task->dimension()));
    }
    return result;
  }
  // Opens a block and gathers; false if there is none.
  bool gather_from(std::size_t i) {
    blocks.open(i, visit);
    if (visit.open.block->empty()) return false;
    gather(*task, i, w, visit);
    return true;
  }
};

// Calls check(setting, example) for all blocks, stored and implicit, with products and without.
template <class Check>
void for_all_blocks(std::uint64_t seed, Check check) {
  Random random(seed);
  std::size_t most = 0;
  for (int repeat = 0; repeat < 4; ++repeat) {
    for (const Kind kind : {Kind::indicators, Kind::values, Kind::dense}) {
      for (const bool products : {false, true}) {
        Setting setting(kind, products, random);
        for (const std::size_t i : setting.problem.examples()) {
          if (setting.gather_from(i)) check(setting, i, random);
          most = std::max(most, setting.blocks[i].size());
        }
      }
    }
  }
  CHECK(most >= 4);
}

// sum_y a_y loss_y - 1/2 |w|^2 - ridge / 2 (sum_y a_y)^2
double objective(const Block& block, std::span<const double> duals, std::span<const double> w, double ridge) {
  double sum = block.duals_elsewhere();
  double value = -dot(w, w) / 2;
  for (std::size_t j = 0; j < duals.size(); ++j) {
    sum += duals[j];
    value += duals[j] * block.rows()[j].loss;
  }
  return value - ridge * sum * sum / 2;
}

std::vector<double> moved(std::span<const double> w, const std::vector<std::vector<double>>& differences,
                          std::span<const double> steps) {
  std::vector<double> result(w.begin(), w.end());
  for (std::size_t j = 0; j < steps.size(); ++j) {
    for (std::size_t k = 0; k < result.size(); ++k) result[k] += steps[j] * differences[j][k];
  }
  return result;
}

std::vector<double> duals_of(const Block& block) {
  std::vector<double> result;
  for (const auto& row : block.rows()) result.push_back(row.dual);
  return result;
}

std::vector<std::uint8_t> bytes_of(const Block& block) {
  return {block.as_bytes().begin(), block.as_bytes().end()};
}

// Steps on single variables as dcd-ssvm-2013 has them, on all of the weights. `order` is that of the rule.
struct Sweep {
  std::vector<double> duals;
  Step step;
};
Sweep sweep_by_definition(const Block& block, const std::vector<std::vector<double>>& differences,
                          std::vector<double> w, double ridge, int most_sweeps, const Visit& visit) {
  Sweep result{duals_of(block), {}};
  double sum = std::accumulate(result.duals.begin(), result.duals.end(), block.duals_elsewhere());
  const auto factor = [&](std::size_t k) {
    return block.has_support() ? visit.asked.damping.of(static_cast<marginloom::WeightIndex>(k))
                               : visit.asked.damping.most;
  };
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    double gained = 0;
    for (const std::uint32_t j : visit.scratch.order) {
      const auto& d = differences[j];
      const double gradient = block.rows()[j].loss - dot(w, d) - ridge * sum;
      double curvature = ridge;
      for (std::size_t k = 0; k < w.size(); ++k) curvature += factor(k) * d[k] * d[k];
      const double step = std::max(result.duals[j] + gradient / curvature, 0.0) - result.duals[j];
      const double gain = step * gradient - step * step * curvature / 2;
      result.step.tried_gain += gain;
      if (gain < visit.asked.least_gain) continue;
      for (std::size_t k = 0; k < w.size(); ++k) w[k] += factor(k) * step * d[k];
      result.duals[j] += step;
      sum += step;
      gained += gain;
    }
    result.step.tried += block.size();
    result.step.gain += gained;
    if (gained <= 0.1 * result.step.gain) break;
  }
  return result;
}

// The largest difference of gradients that a step within the bounds could still use.
double residual(std::span<const double> duals, std::span<const double> gradient, double budget) {
  const double left = budget - std::accumulate(duals.begin(), duals.end(), 0.0);
  double lowest = left > 1e-9 ? 0 : std::numeric_limits<double>::infinity();
  double highest = 0;
  for (std::size_t j = 0; j < duals.size(); ++j) {
    highest = std::max(highest, gradient[j]);
    if (duals[j] > 1e-9) lowest = std::min(lowest, gradient[j]);
  }
  return highest - lowest;
}

}  // namespace

TEST("visit: gather reads the weights of the support, or the scores of implicit differences, and the duals") {
  for_all_blocks(1, [](Setting& setting, std::size_t i, Random&) {
    const Visit& visit = setting.visit;
    const Block& block = *visit.open.block;
    CHECK(visit.open.duals == duals_of(block));
    CHECK(block.has_support() == !setting.problem.dense);
    if (block.has_support()) {
      CHECK(visit.open.values.size() == block.support().size());
      for (std::size_t k = 0; k < visit.open.values.size(); ++k)
        CHECK(visit.open.values[k] == setting.w[block.support()[k]]);
    }
    const auto differences = setting.differences(i, block);
    for (std::size_t j = 0; j < block.size(); ++j) {
      CHECK_NEAR(visit.open.dot(block.rows()[j]), dot(setting.w, differences[j]), 1e-12);
      CHECK_NEAR(block.rows()[j].squared_norm, dot(differences[j], differences[j]), 1e-12);
    }
  });
}

TEST("visit: scatter moves the weights by the steps times the differences, and the delta says the same to the bit") {
  for_all_blocks(2, [](Setting& setting, std::size_t i, Random& random) {
    Visit& visit = setting.visit;
    const auto differences = setting.differences(i, *visit.open.block);
    const auto before = bytes_of(*visit.open.block);
    for (const bool one : {false, true}) {
      visit.open.steps = problems::random_vector(visit.open.block->size(), random, problems::uniform);
      if (one) std::fill(visit.open.steps.begin() + 1, visit.open.steps.end(), 0.0);
      const auto expected = moved(setting.w, differences, visit.open.steps);
      for (const bool atomic : {false, true}) {
        for (const bool noted : {false, true}) {
          auto w = setting.w;
          WeightDelta delta;
          scatter(*setting.task, i, {w.data(), atomic}, visit, noted ? &delta : nullptr);
          for (std::size_t k = 0; k < w.size(); ++k) CHECK_NEAR(w[k], expected[k], 1e-12);
          auto follower = setting.w;
          delta.apply(*setting.task, follower);
          CHECK(problems::same_bits(follower, noted ? w : setting.w));
        }
      }
    }
    CHECK(bytes_of(*visit.open.block) == before);
    CHECK(std::ranges::all_of(visit.scratch.spread, [](double value) { return value == 0; }));
  });
}

TEST("visit: the products are those of the differences, kept or computed") {
  for_all_blocks(3, [](Setting& setting, std::size_t i, Random&) {
    const Block& block = *setting.visit.open.block;
    const auto differences = setting.differences(i, block);
    const std::vector<std::uint8_t> movers(setting.w.size(), 1);
    const std::vector<double> factors{1, 2};
    for (const auto& damping : {StepDamping{}, StepDamping{.most = 2}, StepDamping{2, movers, factors}}) {
      std::vector<double> products(block.size() * block.size(), -1);
      setting.visit.asked.damping = damping;
      gather(*setting.task, i, setting.w, setting.visit);
      fill_products(*setting.task, i, setting.visit, products);
      for (std::size_t j = 0; j < block.size(); ++j) {
        for (std::size_t k = 0; k < block.size(); ++k) {
          const double expected = damping.most * dot(differences[j], differences[k]);
          CHECK_NEAR(products[j * block.size() + k], expected, 1e-12);
        }
      }
    }
    setting.visit.asked.damping = {};
    CHECK(std::ranges::all_of(setting.visit.scratch.spread, [](double value) { return value == 0; }));
  });
}

TEST("visit: sweeps make the steps of the definition, with damping and least gains, and say what they gain") {
  for_all_blocks(4, [](Setting& setting, std::size_t i, Random& random) {
    Visit& visit = setting.visit;
    if (!visit.open.block->has_support() && !visit.open.block->has_products()) return;
    const auto differences = setting.differences(i, *visit.open.block);
    const double ridge = 0.5 + static_cast<double>(random.below(4));
    std::vector<std::uint8_t> movers(setting.w.size());
    for (auto& mover : movers) mover = static_cast<std::uint8_t>(random.below(3));
    const std::vector<double> factors{1, 1.5, 3};
    for (const auto& damping : {StepDamping{}, StepDamping{.most = 3}, StepDamping{3, movers, factors}}) {
      for (const double least_gain : {0.0, 0.01}) {
        for (const int sweeps : {1, 2, 50}) {
          visit.asked.damping = damping;
          visit.asked.least_gain = least_gain;
          gather(*setting.task, i, setting.w, visit);
          const Step step = sweep({.ridge = ridge}, sweeps, visit);
          CHECK(visit.scratch.order.size() == visit.open.block->size() && visit.scratch.order[0] == 0);
          const Sweep expected = sweep_by_definition(*visit.open.block, differences, setting.w, ridge, sweeps, visit);
          CHECK_NEAR(step.gain, expected.step.gain, 1e-10);
          CHECK_NEAR(step.tried_gain, expected.step.tried_gain, 1e-10);
          CHECK(step.tried == expected.step.tried && !step.as_a_whole);
          const auto before = duals_of(*visit.open.block);
          std::size_t updates = 0;
          for (std::size_t j = 0; j < before.size(); ++j) {
            CHECK_NEAR(visit.open.duals[j], expected.duals[j], 1e-10);
            CHECK(visit.open.steps[j] == visit.open.duals[j] - before[j]);
            updates += visit.open.steps[j] != 0 ? 1 : 0;
          }
          CHECK(step.updates == updates);
          auto w = setting.w;
          scatter(*setting.task, i, {w.data()}, visit);
          const auto after = moved(setting.w, differences, visit.open.steps);
          for (std::size_t k = 0; k < w.size(); ++k) CHECK_NEAR(w[k], after[k], 1e-10);
          if (damping.most > 1) continue;
          CHECK_NEAR(step.gain,
                     objective(*visit.open.block, visit.open.duals, after, ridge) -
                         objective(*visit.open.block, before, setting.w, ridge),
                     1e-10);
        }
      }
    }
    visit.asked.damping = {};
  });
}

TEST("visit: the exact solution is a maximum of the block, within its budget, and says what it gains") {
  constexpr double tolerance = 1e-9;
  for_all_blocks(5, [](Setting& setting, std::size_t i, Random& random) {
    Visit& visit = setting.visit;
    const auto differences = setting.differences(i, *visit.open.block);
    const auto before = duals_of(*visit.open.block);
    const double sum = std::accumulate(before.begin(), before.end(), 0.0);
    const double budget = sum * (1 + static_cast<double>(random.below(3))) + (random.below(2) == 0 ? 0.3 : 0.0);
    for (const BlockTerms& terms : {BlockTerms{.budget = budget}, BlockTerms{.ridge = 2}}) {
      gather(*setting.task, i, setting.w, visit);
      const Step step = solve_exactly(*setting.task, i, terms, tolerance, nullptr, visit);
      const auto after = moved(setting.w, differences, visit.open.steps);
      CHECK_NEAR(step.gain,
                 objective(*visit.open.block, visit.open.duals, after, terms.ridge) -
                     objective(*visit.open.block, before, setting.w, terms.ridge),
                 1e-8);
      const double new_sum = std::accumulate(visit.open.duals.begin(), visit.open.duals.end(), 0.0);
      std::vector<double> gradient;
      for (std::size_t j = 0; j < differences.size(); ++j) {
        CHECK(visit.open.duals[j] >= 0);
        gradient.push_back(visit.open.block->rows()[j].loss - dot(after, differences[j]) - terms.ridge * new_sum);
      }
      CHECK(new_sum <= terms.budget * (1 + 1e-12));
      CHECK(residual(visit.open.duals, gradient, terms.budget) <= 1e-6);
      CHECK_NEAR(step.largest_violation, std::ranges::max(gradient), 1e-6);
      CHECK(step.as_a_whole);
      // Once more from there: nothing is left to gain.
      const auto solved = visit.open.duals;
      visit.asked.least_gain = std::numeric_limits<double>::infinity();
      gather(*setting.task, i, setting.w, visit);
      const Step left_out = solve_exactly(*setting.task, i, terms, tolerance, nullptr, visit);
      visit.asked.least_gain = 0;
      CHECK(left_out.updates == 0 && left_out.gain == 0);
      CHECK_NEAR(left_out.tried_gain, step.gain, 1e-10);
      CHECK(visit.open.duals == before);
      CHECK(solved.size() == before.size());
    }
  });
}

TEST("visit: a copy of some rows is solved as the block is with the other duals fixed") {
  for_all_blocks(6, [](Setting& setting, std::size_t i, Random&) {
    const Block& block = setting.blocks[i];
    if (block.size() < 3) return;
    Block part;
    const std::vector<std::uint32_t> rows{2, 0};
    part.copy(block, rows, {.support = true, .products = true});
    Visit& visit = setting.visit;
    visit.open.block = &part;
    const auto all = setting.differences(i, block);
    const std::vector<std::vector<double>> differences{all[2], all[0]};
    const double budget = block.sums().duals + 0.1;
    const auto before = bytes_of(part);
    for (const BlockTerms& terms : {BlockTerms{.budget = budget}, BlockTerms{.ridge = 2}}) {
      part = Block::from_bytes(before, setting.w.size());
      auto w = setting.w;
      const double at_first = objective(part, duals_of(part), w, terms.ridge);
      double gain = 0;
      for (int turn = 0; turn < 30; ++turn) {  // a solution makes so many steps at most
        gather(*setting.task, i, w, visit);
        gain += solve_exactly(*setting.task, i, terms, 1e-9, nullptr, visit).gain;
        const auto expected = moved(w, differences, visit.open.steps);
        scatter(*setting.task, i, {w.data()}, visit);
        for (std::size_t k = 0; k < w.size(); ++k) CHECK_NEAR(w[k], expected[k], 1e-12);
        for (std::size_t j = 0; j < 2; ++j) part.rows()[j].dual = visit.open.duals[j];
      }
      CHECK(part.sums().duals <= terms.budget * (1 + 1e-12));
      std::vector<double> gradient;
      for (std::size_t j = 0; j < 2; ++j) {
        gradient.push_back(part.rows()[j].loss - dot(w, differences[j]) - terms.ridge * part.sums().duals);
      }
      CHECK(residual(visit.open.duals, gradient, terms.budget - part.duals_elsewhere()) <= 1e-6);
      CHECK_NEAR(gain, objective(part, visit.open.duals, w, terms.ridge) - at_first, 1e-8);
    }
    if (!part.has_support() && !part.has_products()) return;
    gather(*setting.task, i, setting.w, visit);
    (void)sweep({.ridge = 2}, 1, visit);
    const Sweep expected = sweep_by_definition(part, differences, setting.w, 2, 1, visit);
    for (std::size_t j = 0; j < 2; ++j) CHECK_NEAR(visit.open.duals[j], expected.duals[j], 1e-10);
  });
}

namespace {

template <class Learner>
void absorb_all(const Problem& problem, Learner& learner, std::span<const double> w, Visit& visit) {
  const auto scratch = learner.task().make_scratch();
  FunctionSink absorb([&](const Candidate& candidate) { learner.absorb(candidate, visit.scratch); });
  for (const std::size_t i : problem.examples()) learner.task().find(i, w, {}, *scratch, absorb);
}

// Gathers and solves without scatter and settle, then visits in earnest.
template <class Learner>
void check_trying(Kind kind, const typename Learner::Parameters& parameters) {
  Random random(90);
  const Problem problem = problems::make_problem({.sentences = 12, .longest = 5, .kind = kind}, random);
  const auto task = problem.task();
  Learner learner(task, std::vector<double>(problem.size(), 0.4), parameters);
  std::vector<double> w(task->dimension(), 0.0);
  Visit visit = visits::seeded(3);
  std::size_t updates = 0;
  for (int pass = 0; pass < 6; ++pass) {
    absorb_all(problem, learner, w, visit);
    for (const std::size_t i : problem.examples()) {
      learner.blocks().open(i, visit);
      const auto state = learner.export_state();
      const auto weights = w;
      const auto block = bytes_of(learner.blocks()[i]);
      const Random at_first = visit.asked.random;
      Step tried;
      if (!visit.open.block->empty()) {
        gather(*task, i, w, visit);
        tried = learner.solve(i, visit);
      }
      CHECK(problems::same_bits(w, weights));
      CHECK(bytes_of(learner.blocks()[i]) == block);
      CHECK(learner.export_state() == state);
      visit.asked.random = at_first;
      const Step made = learner.visit(i, w, {w.data()}, visit, true);
      CHECK(made.gain == tried.gain && made.updates == tried.updates && made.residual == tried.residual);
      updates += made.updates;
    }
  }
  CHECK(updates > 20);
}

}  // namespace

TEST("visit: trying a solution changes neither block nor weights, and making it is what was tried") {
  for (const Kind kind : {Kind::values, Kind::dense}) {
    for (const std::size_t memory : {Blocks::unlimited, std::size_t{1}}) {
      check_trying<Dcd>(kind, {.loss = Loss::squared_hinge, .memory = memory});
      check_trying<Dcd>(kind, {.loss = Loss::hinge, .memory = memory});
      check_trying<Fsmo>(kind, {.memory = memory});
      check_trying<Fsmo>(kind, {.variant = Fsmo::Variant::as_published, .memory = memory});
    }
  }
}

TEST("visit: a copy of the weights that follows the deltas of all visits has their bits") {
  for (const Kind kind : {Kind::values, Kind::dense}) {
    for (const Loss loss : {Loss::squared_hinge, Loss::hinge}) {
      Random random(91);
      const Problem problem = problems::make_problem({.sentences = 20, .longest = 5, .kind = kind}, random);
      const auto task = problem.task();
      Dcd learner(task, std::vector<double>(problem.size(), 0.4), {.loss = loss});
      std::vector<double> w(task->dimension(), 0.0);
      std::vector<double> follower = w;
      std::vector<double> late = w;
      Visit visit = visits::seeded(3);
      WeightDelta all;
      for (int pass = 0; pass < 6; ++pass) {
        absorb_all(problem, learner, w, visit);
        WeightDelta delta;
        for (const std::size_t i : problem.examples()) {
          learner.blocks().open(i, visit);
          if (visit.open.block->empty()) continue;
          gather(*task, i, w, visit);
          const Step step = learner.solve(i, visit);
          if (step.updates > 0) scatter(*task, i, {w.data()}, visit, &delta);
          learner.settle(i, visit.open.duals, step, true);
        }
        delta.apply(*task, follower);
        CHECK(problems::same_bits(follower, w));
        all.append(delta);
      }
      all.apply(*task, late);
      CHECK(problems::same_bits(late, w));
      all.expand(*task);
      std::vector<double> sums(w.size(), 0.0);
      WeightDelta::from_bytes(all.to_bytes(), w.size()).apply(*task, sums);
      learner.write_weights(follower);
      for (std::size_t k = 0; k < w.size(); ++k) {
        CHECK_NEAR(sums[k], w[k], 1e-12);
        CHECK_NEAR(follower[k], w[k], 1e-12);
      }
    }
  }
}

TEST("visit: an input without features has differences of 0, and scores that stay so") {
  const std::vector<std::uint64_t> offsets{0, 0, 1};
  const std::vector<std::uint32_t> columns{0};
  const std::vector<double> values{1};
  const std::vector<ClassIndex> gold{0, 1};
  InputData data;
  data.row_count = 2;
  data.column_count = 1;
  data.offsets = offsets;
  data.columns = columns;
  data.doubles = values;
  const auto task = std::make_shared<const MulticlassTask>(data, gold, 6, std::vector<double>{});
  const double cost = 0.75;
  for (const Loss loss : {Loss::squared_hinge, Loss::hinge}) {
    Dcd learner(task, std::vector<double>{cost, cost}, {.loss = loss});
    std::vector<double> w(task->dimension(), 0.0);
    Visit visit = visits::seeded(1);
    FunctionSink absorb([&](const Candidate& candidate) { learner.absorb(candidate, visit.scratch); });
    task->find(0, w, learner.search(0), *task->make_scratch(), absorb);
    CHECK(learner.blocks()[0].size() == 5);
    const Step step = learner.visit(0, w, {w.data()}, visit, true);
    CHECK(visit.open.values == std::vector<double>(5, 0.0));
    CHECK(w == std::vector<double>(w.size(), 0.0));
    CHECK_NEAR(step.gain, cost, 1e-12);  // all of the slack: 1 for every class
    CHECK_NEAR(learner.blocks()[0].sums().duals, loss == Loss::hinge ? cost : 2 * cost, 1e-12);
  }
}
