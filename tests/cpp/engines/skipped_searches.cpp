#include "engines/skipped_searches.hpp"

#include "test.hpp"

using marginloom::ExampleIds;
using marginloom::SkippedSearches;
using marginloom::StateArrays;

namespace {

// How many searches in a row an example skips.
int passes_skipped(SkippedSearches& skipped, std::size_t i) {
  int count = 0;
  while (skipped.skip(i)) ++count;
  return count;
}

}  // namespace

TEST("skipped_searches: they grow while nothing is found, up to the limit, and end when something is") {
  SkippedSearches skipped(2, 5);
  CHECK(!skipped.skip(0));
  for (const int expected : {1, 3, 5, 5}) {
    skipped.note(0, true);
    CHECK(passes_skipped(skipped, 0) == expected);
  }
  CHECK(passes_skipped(skipped, 1) == 0);
  skipped.note(0, false);
  CHECK(passes_skipped(skipped, 0) == 0);
  skipped.note(0, true);
  CHECK(passes_skipped(skipped, 0) == 1);
}

TEST("skipped_searches: none with a limit of 0, and none after all have been forgotten") {
  SkippedSearches never(2, 0);
  never.note(0, true);
  CHECK(!never.skip(0));
  SkippedSearches skipped(2, 7);
  skipped.note(1, true);
  skipped.forget();
  CHECK(!skipped.skip(1));
}

TEST("skipped_searches: a state restores them, and one of another size is refused") {
  SkippedSearches skipped(3, 7);
  skipped.note(1, true);
  (void)passes_skipped(skipped, 1);
  skipped.note(1, true);
  StateArrays state;
  skipped.add_to(state);
  SkippedSearches restored(3, 7);
  restored.take_from(state, ExampleIds(3));
  CHECK(passes_skipped(restored, 1) == 3);
  SkippedSearches other(2, 7);
  CHECK_THROWS(std::invalid_argument, other.take_from(state, ExampleIds(2)), "examples");
  restored.note(1, true);
  restored.take_from({}, ExampleIds(3));
  CHECK(!restored.skip(1));
}
