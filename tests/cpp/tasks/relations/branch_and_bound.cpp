// The search for types and relations against looking at the types of all spans.
#include "tasks/relations/branch_and_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/random.hpp"
#include "problems.hpp"
#include "test.hpp"

using namespace marginloom;

namespace {

struct Scored {
  TypeTable table;
  JointScores scores;
};

// Draws the scores of a sentence; of every ten pairs, some have no relation that scores more than none.
template <class Draw>
Scored random_scores(std::size_t spans, std::size_t types, std::size_t labels, double density, Random& random,
                     Draw draw) {
  std::vector<TypeTable::Line> lines;
  for (std::size_t label = 1; label < labels; ++label) {
    for (std::size_t s = 0; s < types; ++s) {
      for (std::size_t t = 0; t < types; ++t) {
        if (random.below(3) == 0) {
          lines.push_back(
              {static_cast<std::uint8_t>(label), static_cast<std::uint8_t>(s), static_cast<std::uint8_t>(t)});
        }
      }
    }
  }
  Scored result{TypeTable(types, labels, lines), {}};
  JointScores& scores = result.scores;
  scores.spans = spans;
  scores.type_stride = types + 1;  // padding that nothing may read
  scores.pair_stride = labels + 2;
  scores.types.assign(spans * scores.type_stride, 1e9);
  scores.pairs.assign(spans * (std::max<std::size_t>(spans, 1) - 1) * scores.pair_stride, 1e9);
  for (std::size_t a = 0; a < spans; ++a) {
    for (std::size_t t = 0; t < types; ++t) scores.types[a * scores.type_stride + t] = draw(random);
  }
  for (std::size_t p = 0; p < spans * (std::max<std::size_t>(spans, 1) - 1); ++p) {
    const bool dull = problems::uniform(random) > density;
    for (std::size_t label = 0; label < labels; ++label) {
      scores.pairs[p * scores.pair_stride + label] = draw(random) - (dull && label > 0 ? 100 : 0);
    }
  }
  return result;
}

double best_of_all(const Scored& problem) {
  const std::size_t types = problem.table.types();
  JointOutput output;
  output.types.assign(problem.scores.spans, 0);
  double best = -std::numeric_limits<double>::infinity();
  while (true) {
    take_best_labels(problem.table, problem.scores, output);
    best = std::max(best, score_of(problem.scores, output));
    std::size_t a = 0;
    while (a < output.types.size() && ++output.types[a] == types) output.types[a++] = 0;
    if (a == output.types.size()) return best;
  }
}

bool allowed(const Scored& problem, const JointOutput& output) {
  std::size_t row = 0;
  for (std::size_t a = 0; a < problem.scores.spans; ++a) {
    for (std::size_t b = 0; b < problem.scores.spans; ++b) {
      if (a != b && !problem.table.allows(output.labels[row++], output.types[a], output.types[b])) return false;
    }
  }
  return true;
}

}  // namespace

TEST("branch and bound: finds the best types and relations of all") {
  Random random(7);
  const BranchAndBound solver(0);
  const auto scratch = solver.make_scratch();
  std::size_t nodes = 0;
  for (int round = 0; round < 600; ++round) {
    const std::size_t spans = random.below(8);
    const std::size_t types = 1 + random.below(3);
    const std::size_t labels = 1 + random.below(4);
    const double density = static_cast<double>(random.below(3)) - 1;
    const Scored problem = round % 2 == 0 ? random_scores(spans, types, labels, density, random, problems::uniform)
                                          : random_scores(spans, types, labels, density, random, [](Random& numbers) {
                                              return static_cast<double>(numbers.below(3));
                                            });
    JointOutput found;
    const JointOptimum optimum = solver.solve(problem.table, problem.scores, *scratch, found);
    CHECK(optimum.complete && optimum.bound == optimum.score);
    CHECK(allowed(problem, found));
    CHECK_NEAR(score_of(problem.scores, found), optimum.score, 0);
    CHECK_NEAR(optimum.score, best_of_all(problem), 1e-9);
    nodes += optimum.nodes;
  }
  CHECK(nodes > 0);
}

TEST("branch and bound: a limit leaves a bound that no output exceeds") {
  Random random(8);
  const BranchAndBound whole(0);
  const BranchAndBound cut(3);
  const auto scratch = whole.make_scratch();
  std::size_t incomplete = 0;
  for (int round = 0; round < 200; ++round) {
    const Scored problem = random_scores(9, 3, 4, 1.0, random, problems::uniform);
    JointOutput found;
    const JointOptimum best = whole.solve(problem.table, problem.scores, *scratch, found);
    const JointOptimum early = cut.solve(problem.table, problem.scores, *scratch, found);
    CHECK(allowed(problem, found) && early.nodes <= 3);
    CHECK(early.score <= best.score + 1e-9 && best.score <= early.bound + 1e-9);
    CHECK(early.complete || early.bound > early.score);
    incomplete += early.complete ? 0 : 1;
  }
  CHECK(incomplete > 0);
}

TEST("branch and bound: what a scratch was used for before changes nothing") {
  Random random(9);
  const BranchAndBound solver(0);
  const auto used = solver.make_scratch();
  for (int round = 0; round < 50; ++round) {
    const Scored problem = random_scores(random.below(10), 3, 3, 0.0, random,
                                         [](Random& numbers) { return static_cast<double>(numbers.below(2)); });
    JointOutput first;
    JointOutput second;
    solver.solve(problem.table, problem.scores, *used, first);
    solver.solve(problem.table, problem.scores, *solver.make_scratch(), second);
    CHECK(first == second);
  }
}

TEST("type table: lines beyond the numbers are refused") {
  const TypeTable::Line none{0, 0, 0};
  const TypeTable::Line label{2, 0, 0};
  const TypeTable::Line type{1, 0, 2};
  for (const TypeTable::Line& line : {none, label, type}) {
    CHECK_THROWS(std::invalid_argument, TypeTable(2, 2, std::span(&line, 1)), "beyond the numbers");
  }
  CHECK_THROWS(std::invalid_argument, TypeTable(256, 2, {}), "255");
}
