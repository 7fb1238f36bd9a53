// The greatest numbers, against sorting all of them.
#include "core/leading.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "core/kernels.hpp"
#include "core/random.hpp"
#include "test.hpp"

using marginloom::Leading;
using marginloom::Random;

namespace {

constexpr double lowest_of_all = -std::numeric_limits<double>::infinity();

std::vector<std::uint32_t> sorted_places(const std::vector<double>& values, bool downwards) {
  std::vector<std::uint32_t> places;
  for (std::uint32_t place = 0; place < values.size(); ++place) {
    if (values[place] > lowest_of_all) places.push_back(place);
  }
  std::ranges::sort(places, [&](std::uint32_t one, std::uint32_t other) {
    if (values[one] != values[other]) return values[one] > values[other];
    return downwards ? one > other : one < other;
  });
  return places;
}

}  // namespace

TEST("leading: what is found is the beginning of all places in order, and as much as is wanted") {
  Random random(5);
  Leading leading;
  for (int trial = 0; trial < 2000; ++trial) {
    const std::size_t count = marginloom::row_alignment * (1 + random.below(40));
    const std::size_t sure = marginloom::row_alignment * (1 + random.below(count / marginloom::row_alignment));
    const std::size_t wanted = 1 + random.below(trial % 2 == 0 ? 10 : 200);
    const std::size_t different = trial % 3 == 0 ? 5 : 100000;
    std::vector<double> values(count);
    for (double& value : values)
      value = random.below(4) == 0 ? lowest_of_all : static_cast<double>(random.below(different));
    const bool downwards = trial % 5 == 0;
    const auto precedes = [=](std::uint32_t one, std::uint32_t other) { return downwards ? one > other : one < other; };
    const auto expected = sorted_places(values, downwards);
    const auto found = leading.find(values.data(), count, wanted, precedes, sure);
    CHECK(found.size() <= expected.size());
    CHECK(std::equal(found.begin(), found.end(), expected.begin()));
    const auto those_found = std::ranges::count_if(found, [&](std::uint32_t place) { return place < sure; });
    const auto all = std::ranges::count_if(expected, [&](std::uint32_t place) { return place < sure; });
    CHECK(static_cast<std::size_t>(those_found) >= std::min(wanted, static_cast<std::size_t>(all)));
  }
}

TEST("leading: a threshold leaves out most of many numbers") {
  Random random(6);
  Leading leading;
  std::vector<double> values(800);
  for (double& value : values) value = static_cast<double>(random.below(1U << 30));
  for (const std::size_t wanted : {8, 50}) {
    CHECK(leading.find(values.data(), values.size(), wanted, std::less{}, values.size()).size() < 4 * wanted);
  }
}

TEST("leading: what is not a number does not come before numbers") {
  Leading leading;
  std::vector<double> values(16, lowest_of_all);
  values[3] = std::numeric_limits<double>::quiet_NaN();
  values[5] = 1;
  values[9] = 2;
  const auto found = leading.find(values.data(), values.size(), 3, std::less{}, values.size());
  CHECK(std::vector(found.begin(), found.end()) == std::vector<std::uint32_t>({9, 5}));
}
