// Marks of the weights that may have changed.
#include "core/weight_marks.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/random.hpp"
#include "test.hpp"

using marginloom::Random;
using marginloom::WeightIndex;
using marginloom::WeightMarks;

namespace {

// How often each weight was visited, by so many parts one after the other.
template <std::size_t each>
std::vector<int> visits(const WeightMarks<each>& touched, std::size_t dimension, std::size_t parts) {
  std::vector<int> result(dimension, 0);
  std::size_t behind = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = touched.cut(part, parts);
    const std::size_t end = touched.cut(part + 1, parts);
    touched.for_each_run(begin, end, [&](std::size_t first, std::size_t last) {
      CHECK(begin <= first && behind <= first && first < last && last <= end);
      for (std::size_t k = first; k < last; ++k) ++result[k];
      behind = last;
    });
  }
  return result;
}

template <std::size_t each>
void check_runs() {
  Random random(90);
  for (const std::size_t dimension : {1U, 15U, 16U, 17U, 100U, 1000U}) {
    WeightMarks<each> touched(dimension);
    for (int round = 0; round < 50; ++round) {
      std::vector<WeightIndex> marked;
      for (std::size_t left = random.below(8); left > 0; --left) {
        marked.push_back(static_cast<WeightIndex>(random.below(dimension)));
        touched.mark(marked.back());
      }
      for (const std::size_t parts : {1U, 2U, 3U, 16U, 100U}) {
        const auto seen = visits(touched, dimension, parts);
        for (const WeightIndex k : marked) CHECK(seen[k] == 1);
        CHECK(std::ranges::all_of(seen, [](int times) { return times <= 1; }));
        CHECK(static_cast<std::size_t>(std::ranges::count(seen, 1)) <= each * marked.size());
      }
      std::vector<std::uint64_t> numbers(marked.begin(), marked.end());
      for (std::uint64_t& k : numbers) k /= each;
      std::ranges::sort(numbers);
      numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
      CHECK(touched.numbers() == numbers);
      touched.clear();
      CHECK(std::ranges::count(visits(touched, dimension, 1), 0) == static_cast<std::ptrdiff_t>(dimension));
    }
  }
}

}  // namespace

TEST("weight_marks: every marked weight is in one run, runs are in order, and few others are in them") {
  check_runs<16>();
  check_runs<4>();
}

TEST("weight_marks: all can be marked, again after they were cleared") {
  constexpr std::size_t each = 16;
  constexpr std::size_t dimension = 35;
  WeightMarks<each> touched(dimension);
  for (int round = 0; round < 2; ++round) {
    CHECK(!touched.all());
    touched.mark_all();
    touched.mark_all();
    CHECK(touched.all());
    CHECK(std::ranges::count(visits(touched, dimension, 2), 1) == dimension);
    touched.clear();
    CHECK(std::ranges::count(visits(touched, dimension, 2), 1) == 0);
  }
}
