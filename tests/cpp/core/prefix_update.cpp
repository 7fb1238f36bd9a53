// Which prefix of a search is learnt from.
#include "core/prefix_update.hpp"

#include <cstddef>
#include <limits>
#include <vector>

#include "core/random.hpp"
#include "test.hpp"

using marginloom::PrefixChoice;
using marginloom::PrefixUpdate;
using marginloom::Random;

namespace {

struct Step {
  double best, gold;
  bool in_beam;
};

PrefixChoice choice_of(PrefixUpdate update, const std::vector<Step>& steps) {
  PrefixChoice choice(update);
  for (const Step& step : steps) choice.take(step.best, step.gold, step.in_beam);
  return choice;
}

TEST("prefix update: each rule takes its prefix") {
  const std::vector<Step> steps{{1, 1, true}, {3, 2, true}, {5, 2, false}, {5, 4, false}, {5, 6, false}};
  const PrefixChoice most = choice_of(PrefixUpdate::max_violation, steps);
  CHECK(most.length() == 3 && most.violation() == 3 && !most.ends_search());
  const PrefixChoice early = choice_of(PrefixUpdate::early, steps);
  CHECK(early.length() == 3 && early.violation() == 3 && early.ends_search());
  const PrefixChoice standard = choice_of(PrefixUpdate::standard, steps);
  CHECK(standard.length() == 5 && standard.violation() == -1);
  CHECK(standard.has_candidate(true) && !standard.has_candidate(false));
}

TEST("prefix update: of equal violations the longest prefix counts, also at weights of 0") {
  const std::vector<Step> zeros(4, {0, 0, true});
  for (const auto update : {PrefixUpdate::max_violation, PrefixUpdate::early, PrefixUpdate::standard}) {
    const PrefixChoice choice = choice_of(update, zeros);
    CHECK(choice.length() == 4 && choice.violation() == 0);
    CHECK(choice.has_candidate(true) && !choice.has_candidate(false) && !choice.ends_search());
  }
}

TEST("prefix update: where gold left the beam in a tie, early update goes on while prefixes tie") {
  PrefixChoice choice = choice_of(PrefixUpdate::early, {{0, 0, true}, {1, 1, false}});
  CHECK(choice.length() == 2 && !choice.ends_search());
  choice.take(2, 2, false);
  CHECK(choice.length() == 3 && !choice.ends_search());
  choice.take(9, 1, false);
  CHECK(choice.length() == 3 && choice.violation() == 0);
}

TEST("prefix update: before the first step there is no candidate") {
  CHECK(!PrefixChoice(PrefixUpdate::max_violation).has_candidate(true));
}

TEST("prefix update: the largest violation is that of all prefixes, tried one by one") {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<Step> steps;
    bool in_beam = true;
    const std::size_t count = 1 + random.below(8);
    for (std::size_t j = 0; j < count; ++j) {
      in_beam = in_beam && random.below(4) > 0;
      const double gold = static_cast<double>(random.below(5));
      steps.push_back({in_beam ? gold + static_cast<double>(random.below(2)) : static_cast<double>(random.below(5)),
                       gold, in_beam});
    }
    std::size_t longest = 0;
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < steps.size(); ++j) {
      if (steps[j].best - steps[j].gold >= largest) {
        largest = steps[j].best - steps[j].gold;
        longest = j + 1;
      }
    }
    const PrefixChoice choice = choice_of(PrefixUpdate::max_violation, steps);
    CHECK(choice.length() == longest && choice.violation() == largest);
  }
}

}  // namespace
