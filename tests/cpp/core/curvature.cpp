// Small systems of equations over weights, against the matrix put together entry by entry.
#include "core/curvature.hpp"

#include <vector>

#include "core/cholesky.hpp"
#include "core/random.hpp"
#include "problems.hpp"
#include "test.hpp"

using marginloom::Curvature;
using marginloom::Random;

TEST("cholesky: the factors multiply to the matrix, with rows of any pitch") {
  Random random(1);
  for (std::size_t order = 1; order < 40; ++order) {
    const std::size_t pitch = order + random.below(3);
    const auto root = problems::random_vector(order * order, random, problems::uniform);
    std::vector<double> matrix(order * pitch);
    for (std::size_t a = 0; a < order; ++a) {
      for (std::size_t b = 0; b < order; ++b) {
        for (std::size_t k = 0; k < order; ++k) matrix[a * pitch + b] += root[a * order + k] * root[b * order + k];
      }
      matrix[a * pitch + a] += 1;
    }
    const std::vector<double> before = matrix;
    CHECK(marginloom::factor_cholesky(matrix, order, pitch));
    for (std::size_t a = 0; a < order; ++a) {
      for (std::size_t b = 0; b <= a; ++b) {
        double sum = 0;
        for (std::size_t k = 0; k <= b; ++k) sum += matrix[a * pitch + k] * matrix[b * pitch + k];
        CHECK_NEAR(sum, before[a * pitch + b], 1e-12 * static_cast<double>(order));
      }
    }
  }
}

TEST("cholesky: an indefinite matrix is found out") {
  std::vector<double> matrix{1, 0, 2, 1};
  CHECK(!marginloom::factor_cholesky(matrix, 2, 2));
}

TEST("curvature: the solution of the equations fits them, also for weights that no vector touches") {
  Random random(2);
  constexpr std::size_t weights = 30;
  Curvature curvature;
  for (int round = 0; round < 20; ++round) {
    curvature.reset(weights);
    const auto wanted = problems::random_vector(weights, random, problems::uniform);
    std::vector<double> product = wanted;
    for (int k = 0; k < 12; ++k) {
      std::vector<double> vector(weights);
      for (int entry = 0; entry < 5; ++entry) vector[random.below(weights - 4)] = problems::uniform(random);
      const double factor = k % 4 == 3 ? -0.01 : 2.0;
      double dot = 0;
      for (std::size_t j = 0; j < weights; ++j) dot += vector[j] * wanted[j];
      for (std::size_t j = 0; j < weights; ++j) product[j] += factor * dot * vector[j];
      curvature.add(vector, factor);
    }
    CHECK(curvature.solve(product));
    for (std::size_t j = 0; j < weights; ++j) CHECK_NEAR(product[j], wanted[j], 1e-10);
  }
}

TEST("curvature: vectors that touch the same weights are added up, however many there are of each kind") {
  Random random(3);
  constexpr std::size_t weights = 40;
  for (const std::size_t kinds : {1, 7, 600}) {
    Curvature curvature;
    curvature.reset(weights);
    const auto wanted = problems::random_vector(weights, random, problems::uniform);
    std::vector<double> product = wanted;
    for (int k = 0; k < 1500; ++k) {
      std::vector<double> vector(weights);
      Random places(10 + random.below(kinds));  // the same weights for all of a kind
      for (int entry = 0; entry < 9; ++entry) vector[places.below(weights - 1)] = problems::uniform(random) + 2;
      const double factor = k % 5 == 4 ? -1e-4 : 0.01;
      double dot = 0;
      for (std::size_t j = 0; j < weights; ++j) dot += vector[j] * wanted[j];
      for (std::size_t j = 0; j < weights; ++j) product[j] += factor * dot * vector[j];
      curvature.add(vector, factor);
    }
    CHECK(curvature.solve(product));
    for (std::size_t j = 0; j < weights; ++j) CHECK_NEAR(product[j], wanted[j], 1e-9);
  }
}
