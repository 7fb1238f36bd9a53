// The small quadratic programme over a simplex, against its optimality conditions and a fine grid.
#include "core/simplex_qp.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/random.hpp"
#include "problems.hpp"
#include "test.hpp"

using marginloom::Random;
using marginloom::SimplexQp;

namespace {

struct Programme {
  std::size_t size;
  std::vector<double> linear;
  std::vector<double> matrix;  // row by row

  [[nodiscard]] double value(const std::vector<double>& a) const {
    double sum = 0;
    for (std::size_t j = 0; j < size; ++j) {
      sum += linear[j] * a[j];
      for (std::size_t k = 0; k < size; ++k) sum -= a[j] * matrix[j * size + k] * a[k] / 2;
    }
    return sum;
  }
  [[nodiscard]] std::vector<double> gradient(const std::vector<double>& a) const {
    std::vector<double> result = linear;
    for (std::size_t j = 0; j < size; ++j) {
      for (std::size_t k = 0; k < size; ++k) result[j] -= matrix[j * size + k] * a[k];
    }
    return result;
  }
  [[nodiscard]] SimplexQp qp() const {
    SimplexQp result;
    result.reset(size);
    for (std::size_t j = 0; j < size; ++j) {
      for (std::size_t k = 0; k < size; ++k) result.product(j, k) = matrix[j * size + k];
    }
    return result;
  }
};

// H = D D' of random differences; with fewer features than variables it is singular, as blocks often are.
Programme make_programme(std::size_t size, std::size_t features, Random& random) {
  const auto rows = problems::random_vector(size * features, random, problems::uniform);
  Programme result{size, problems::random_vector(size, random, problems::uniform), std::vector<double>(size * size)};
  for (double& number : result.linear) number += 0.5;
  for (std::size_t j = 0; j < size; ++j) {
    for (std::size_t k = 0; k < size; ++k) {
      for (std::size_t f = 0; f < features; ++f) {
        result.matrix[j * size + k] += rows[j * features + f] * rows[k * features + f];
      }
    }
  }
  return result;
}

}  // namespace

TEST("simplex_qp: the solution is feasible and no direction leads up") {
  Random random(1);
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t size = 1 + random.below(8);
    const Programme programme = make_programme(size, 1 + random.below(6), random);
    const double budget = 0.05 + static_cast<double>(random.below(100)) / 25;
    std::vector<double> a(size, budget / static_cast<double>(2 * size));
    auto gradient = programme.gradient(a);
    const double before = programme.value(a);
    const auto outcome = programme.qp().solve(a, gradient, budget, 1e-9, 100'000);
    double sum = 0;
    for (const double value : a) {
      CHECK(value >= 0);
      sum += value;
    }
    CHECK(sum <= budget * (1 + 1e-12));
    CHECK_NEAR(programme.value(a) - before, outcome.gain, 1e-9);
    const auto fresh = programme.gradient(a);
    for (std::size_t j = 0; j < size; ++j) CHECK_NEAR(fresh[j], gradient[j], 1e-9);
    // With multiplier m >= 0 of the budget: gradient <= m everywhere, = m where positive, m = 0 where budget is left.
    const double multiplier = std::max(*std::ranges::max_element(fresh), 0.0);
    if (sum < budget * (1 - 1e-6)) CHECK(multiplier < 1e-8);
    for (std::size_t j = 0; j < size; ++j) {
      if (a[j] > 0) CHECK_NEAR(fresh[j], multiplier, 1e-8);
    }
  }
}

TEST("simplex_qp: two variables reach the best point of a fine grid") {
  Random random(2);
  for (int trial = 0; trial < 50; ++trial) {
    const Programme programme = make_programme(2, 2, random);
    std::vector<double> a{0, 0};
    auto gradient = programme.gradient(a);
    programme.qp().solve(a, gradient, 1, 1e-10, 10'000);
    double best = 0;
    for (int x = 0; x <= 200; ++x) {
      for (int y = 0; x + y <= 200; ++y) best = std::max(best, programme.value({x / 200.0, y / 200.0}));
    }
    CHECK(programme.value(a) >= best - 1e-9);
  }
}

TEST("simplex_qp: steps of one variable alone would get stuck where pairs go on") {
  Programme programme{2, {1, 2}, {1, 0, 0, 1}};
  std::vector<double> a{0.5, 0};  // the budget is used up by the worse variable
  auto gradient = programme.gradient(a);
  CHECK(SimplexQp::residual(a, gradient, 0.5) > 1);
  programme.qp().solve(a, gradient, 0.5, 1e-12, 100);
  CHECK_NEAR(a[0], 0, 1e-12);
  CHECK_NEAR(a[1], 0.5, 1e-12);
}

TEST("simplex_qp: without a budget it is the unconstrained maximum over positive variables") {
  Programme programme{2, {3, -1}, {2, 0, 0, 1}};
  std::vector<double> a{0, 0.25};
  auto gradient = programme.gradient(a);
  programme.qp().solve(a, gradient, SimplexQp::no_budget, 1e-12, 100);
  CHECK_NEAR(a[0], 1.5, 1e-12);
  CHECK(a[1] == 0);
}

TEST("simplex_qp: a direction without curvature and without a budget does not run away") {
  Programme programme{1, {1}, {0}};
  std::vector<double> a{0};
  auto gradient = programme.gradient(a);
  programme.qp().solve(a, gradient, SimplexQp::no_budget, 1e-12, 100);
  CHECK(a[0] == 0);
}

TEST("simplex_qp: a solution that uses up the budget has no residual, whichever way its sum was rounded") {
  Random random(3);
  for (int trial = 0; trial < 3000; ++trial) {
    const std::size_t size = 2 + random.below(4);
    Programme programme = make_programme(size, 3, random);
    for (double& number : programme.linear) number += 3;
    const double budget = 0.01 + static_cast<double>(random.below(300)) / 1000;
    std::vector<double> a(size, 0.0);
    auto gradient = programme.gradient(a);
    programme.qp().solve(a, gradient, budget, 1e-6, 10'000);
    CHECK(SimplexQp::residual(a, programme.gradient(a), budget) <= 1e-5);
  }
}

TEST("simplex qp: the closed form for uniform products is the maximum that steps find") {
  Random random(11);
  for (int repeat = 0; repeat < 300; ++repeat) {
    const std::size_t size = 1 + random.below(12);
    const double shared = 0.1 + std::abs(problems::eighths(random));
    const double excess = 0.1 + std::abs(problems::eighths(random));
    Programme programme{size, problems::random_vector(size, random, problems::eighths),
                        std::vector<double>(size * size, shared)};
    for (std::size_t j = 0; j < size; ++j) programme.matrix[j * size + j] += excess;
    const double budget = random.below(3) == 0 ? SimplexQp::no_budget : 0.05 + random.below(8) / 8.0;
    // From a feasible point, as a block has it.
    std::vector<double> start(size);
    for (double& value : start) value = random.below(2) * std::min(budget, 1.0) / (2.0 * size);
    std::vector<double> stepped = start;
    std::vector<double> gradient = programme.gradient(stepped);
    (void)programme.qp().solve(stepped, gradient, budget, 1e-13, 100'000);
    std::vector<double> solved = start;
    gradient = programme.gradient(solved);
    SimplexQp qp;
    const double gain = qp.solve_uniform(solved, gradient, budget, shared, excess);
    CHECK_NEAR(programme.value(solved), programme.value(stepped), 1e-9);
    CHECK_NEAR(gain, programme.value(solved) - programme.value(start), 1e-9);
    CHECK(SimplexQp::residual(solved, gradient, budget) < 1e-9);
    const std::vector<double> expected = programme.gradient(solved);
    double sum = 0;
    for (std::size_t j = 0; j < size; ++j) {
      CHECK_NEAR(gradient[j], expected[j], 1e-9);
      CHECK(solved[j] >= 0);
      sum += solved[j];
    }
    CHECK(sum <= budget * (1 + 1e-12));
  }
}

// For the hinge with inputs of hardly any length, `shared` is as small as the excess; for the squared hinge it is 5.
TEST("simplex qp: the closed form is feasible and the maximum however little excess there is") {
  Random random(12);
  for (const double excess : {1e-2, 1e-6, 1e-12, 1e-15, 1e-16, 1e-17, 1e-24, 1e-80, 1e-200, 1e-300, 1e-320}) {
    for (const double shared : {excess, 5.0}) {
      for (int repeat = 0; repeat < 40; ++repeat) {
        const std::size_t size = 2 + random.below(11);
        const double budget = shared == excess ? 0.1 : SimplexQp::no_budget;
        Programme programme{size, std::vector<double>(size), std::vector<double>(size * size, shared)};
        for (double& loss : programme.linear) loss = 1 + 0.5 * random.below(2);
        for (std::size_t j = 0; j < size; ++j) programme.matrix[j * size + j] += excess;
        std::vector<double> solved(size, 0.0);
        SimplexQp qp;
        double gain = 0;
        for (int visit = 0; visit < 5; ++visit) {  // rounding must not add up either
          std::vector<double> gradient = programme.gradient(solved);
          gain += qp.solve_uniform(solved, gradient, budget, shared, excess);
        }
        double sum = 0;
        double largest = 0;
        for (const double value : solved) {
          CHECK(value >= 0);
          sum += value;
        }
        for (const double loss : programme.linear) largest = std::max(largest, loss);
        CHECK(sum <= budget * (1 + 1e-15));
        CHECK_NEAR(gain, programme.value(solved), 1e-12);
        std::vector<double> steps(size, 0.0);
        std::vector<double> gradient = programme.gradient(steps);
        (void)programme.qp().solve(steps, gradient, budget, 1e-13, 100'000);
        CHECK_NEAR(programme.value(solved), programme.value(steps), 1e-12);
        // Nothing else counts any more: as much of the largest losses as there may be.
        if (excess < 1e-14 && shared == excess) CHECK_NEAR(programme.value(solved), largest * budget, 1e-12);
        if (excess < 1e-14 && shared == 5) CHECK_NEAR(programme.value(solved), largest * largest / 10, 1e-12);
      }
    }
  }
}
