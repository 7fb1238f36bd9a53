// What drivers and parts share: shares of work, and arrays that are checked.
#include "core/world.hpp"

#include <limits>
#include <stdexcept>
#include <vector>

#include "problems.hpp"
#include "test.hpp"

using marginloom::array_of;
using marginloom::cut_by_work;
using marginloom::StateArrays;
using Cuts = std::vector<std::size_t>;

TEST("world: a list is cut where the work is shared, whatever the work is") {
  CHECK(cut_by_work(std::vector<double>(10, 2.0), 3) == Cuts{0, 3, 7, 10});
  CHECK(cut_by_work(std::vector<double>(10, 0.1), 2) == Cuts{0, 5, 10});
  CHECK(cut_by_work(std::vector<double>{5, 1, 1, 1, 1, 1}, 2) == Cuts{0, 1, 6});
  CHECK(cut_by_work(std::vector<double>{1, 1, 8}, 3) == Cuts{0, 2, 3, 3});
  CHECK(cut_by_work(std::vector<double>(20, 1.0), 2, 8) == Cuts{0, 16, 20});
  CHECK(cut_by_work(std::vector<double>{1, 1}, 4) == Cuts{0, 0, 1, 1, 2});
  CHECK(cut_by_work(std::vector<double>{}, 3) == Cuts{0, 0, 0, 0});
  CHECK(cut_by_work(std::vector<double>(10, 1.0), std::vector<double>{0, 2, 1, 2}) == Cuts{0, 0, 4, 6, 10});
  CHECK(cut_by_work(std::vector<double>{5, 1, 1, 1, 1, 1}, std::vector<double>{0.8, 0.2}) == Cuts{0, 4, 6});
  constexpr double infinite = std::numeric_limits<double>::infinity();
  for (const double odd : {0.0, -1.0, infinite, std::numeric_limits<double>::quiet_NaN()}) {
    CHECK(cut_by_work(std::vector<double>(4, odd), 2) == Cuts{0, 2, 4});
  }
}

TEST("world: arrays that are missing, of another type or of another size are named") {
  const StateArrays arrays{{"numbers", std::vector<double>{1, 2}}};
  const auto given = marginloom::views(arrays);
  CHECK(array_of<double>(given, "numbers", 2)[1] == 2);
  CHECK_THROWS(std::invalid_argument, (void)array_of<double>(given, "weights"), "there is no array 'weights'");
  CHECK_THROWS(std::invalid_argument, (void)array_of<std::uint8_t>(given, "numbers"), "'numbers' has the wrong type");
  CHECK_THROWS(std::invalid_argument, (void)array_of<double>(given, "numbers", 3), "has 2 values instead of 3");
  const auto fail = [](std::size_t part, const marginloom::ArrayViews& answer) {
    if (part == 1) (void)array_of<double>(answer, "slacks");
  };
  CHECK_THROWS(std::invalid_argument, marginloom::take_answers("slacks", {arrays, arrays}, fail),
               "the answer of part 1 to 'slacks' cannot be used: there is no array 'slacks'");
}
