#include "engines/rests.hpp"

#include "test.hpp"

using marginloom::ExampleIds;
using marginloom::Rests;
using marginloom::StateArrays;

namespace {

// How many passes in a row an example is spared.
int passes_spared(Rests& rests, std::size_t i) {
  int count = 0;
  while (rests.spares(i)) ++count;
  return count;
}

}  // namespace

TEST("rests: they grow while nothing is found, up to the limit, and end when something is") {
  Rests rests(2, 5);
  CHECK(!rests.spares(0));
  for (const int expected : {1, 3, 5, 5}) {
    rests.note(0, true);
    CHECK(passes_spared(rests, 0) == expected);
  }
  CHECK(passes_spared(rests, 1) == 0);
  rests.note(0, false);
  CHECK(passes_spared(rests, 0) == 0);
  rests.note(0, true);
  CHECK(passes_spared(rests, 0) == 1);
}

TEST("rests: none with a limit of 0, and none after all have been ended") {
  Rests never(2, 0);
  never.note(0, true);
  CHECK(!never.spares(0));
  Rests rests(2, 7);
  rests.note(1, true);
  rests.end_all();
  CHECK(!rests.spares(1));
}

TEST("rests: a state restores them, and one of another size is refused") {
  Rests rests(3, 7);
  rests.note(1, true);
  (void)passes_spared(rests, 1);
  rests.note(1, true);
  StateArrays state;
  rests.add_to(state);
  Rests restored(3, 7);
  restored.take_from(state, ExampleIds(3));
  CHECK(passes_spared(restored, 1) == 3);
  Rests other(2, 7);
  CHECK_THROWS(std::invalid_argument, other.take_from(state, ExampleIds(2)), "examples");
  restored.note(1, true);
  restored.take_from({}, ExampleIds(3));
  CHECK(!restored.spares(1));
}
