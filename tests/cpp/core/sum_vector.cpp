// Sums that are a list while they are few and an array from then on.
#include "core/sum_vector.hpp"

#include <vector>

#include "core/random.hpp"
#include "problems.hpp"
#include "test.hpp"

using marginloom::Random;
using marginloom::SumVector;
using marginloom::WeightIndex;

namespace {

// Adds to some of 4,096 sums, `kinds` of which occur, and to plain ones; both must agree to the last bit throughout.
void add_and_compare(std::size_t kinds, std::size_t additions) {
  Random random(kinds);
  SumVector sums(4096);
  std::vector<double> plain(4096);
  for (std::size_t turn = 0; turn < additions; ++turn) {
    const auto k = static_cast<WeightIndex>(random.below(kinds) * (plain.size() / kinds));
    const double change = problems::uniform(random);
    sums.add(k, change);
    plain[k] += change;
    if (turn % 97 == 0) CHECK(sums.copy() == plain);
  }
  std::vector<double> rest(plain);
  sums.subtract_from(rest);
  CHECK(rest == std::vector<double>(plain.size()));
  const auto array = sums.array();
  CHECK(std::vector<double>(array.begin(), array.end()) == plain);
  CHECK(sums.copy() == plain);
}

}  // namespace

TEST("sums: a list has the bits of an array") {
  add_and_compare(64, 3000);
}
TEST("sums: a list that grows too long becomes an array with the same bits") {
  add_and_compare(2048, 5000);
}
TEST("sums: none at all") {
  SumVector sums(0);
  CHECK(sums.empty());
  CHECK(sums.array().empty());
}
