// Sums over all paths through a chain where plain numbers would not do.
#include "tasks/sequence/chain_marginals.hpp"

#include <cmath>
#include <vector>

#include "core/aligned_vector.hpp"
#include "core/kernels.hpp"
#include "test.hpp"

using marginloom::AlignedVector;
using marginloom::ChainMarginals;

TEST("sums over paths: what a beginning all but rules out and the end asks for is not lost") {
  constexpr std::size_t labels = 4;
  const std::size_t stride = marginloom::padded(labels);
  AlignedVector<double> scores(3 * stride, -5000.0);
  AlignedVector<double> transitions(labels * stride, -2000.0);
  scores[0] = 0;
  scores[stride + 1] = 0;
  scores[stride + 2] = -500;
  scores[2 * stride + 3] = 0;
  transitions[0 * stride + 1] = -460;
  transitions[0 * stride + 2] = -276;
  transitions[1 * stride + 3] = -345;
  transitions[2 * stride + 3] = 0;
  ChainMarginals sums;
  sums.start(scores, {transitions.data(), labels, stride});
  CHECK(sums.compute(1.0));
  // 0 2 3 scores -776, 0 1 3 scores -805, and all others less than -2000.
  CHECK(std::abs(sums.log_marginal(1, 1) + 29) < 1e-9);
  CHECK(std::abs(sums.log_marginal(1, 2)) < 1e-9);
  std::vector<double> shares(labels);
  sums.write_token(1, shares.data());
  CHECK(std::abs(shares[2] - 1) < 1e-9);
}
