// Cutting planes with one slack: their state, and being stopped.
#include "learners/one_slack.hpp"

#include "dual_states.hpp"

using dual_states::array;
using dual_states::not_a_number;
using marginloom::OneSlack;
using marginloom::StateArrays;

TEST("one_slack: a restored run continues bit for bit") {
  for (const std::size_t inactive : {0, 2, 50}) {
    dual_states::check_continues<OneSlack>({.inactive = inactive});
    dual_states::check_continues<OneSlack>({.cache = 0, .inactive = inactive});
    dual_states::check_continues<OneSlack>({.cache = 2, .inactive = inactive, .memory = 1});
  }
}

TEST("one_slack: broken states are refused and change nothing") {
  const auto refused = [](const char* text, const std::function<void(StateArrays&)>& damage) {
    dual_states::check_refused<OneSlack>({.cache = 2}, text, damage);
  };
  const char* text = "do not fit together";
  dual_states::check_every_array_is_needed<OneSlack>({});
  for (const double bad : {not_a_number, -0.1, 1.5}) {
    refused(text, [bad](auto& s) { array<double>(s, "constraint_duals")[0] = bad; });
  }
  refused(text, [](auto& s) { array<double>(s, "constraint_duals").pop_back(); });
  refused(text, [](auto& s) { array<std::uint64_t>(s, "constraint_idle").pop_back(); });
  refused(text, [](auto& s) { array<std::uint64_t>(s, "constraint_examples").pop_back(); });
  refused(text, [](auto& s) { array<std::uint64_t>(s, "constraint_examples")[0] = 1000; });
  refused(text, [](auto& s) {  // an example twice would count its cost twice
    auto& examples = array<std::uint64_t>(s, "constraint_examples");
    examples[1] = examples[0];
  });
  refused(text, [](auto& s) { array<std::uint64_t>(s, "constraint_sizes")[0] = ~std::uint64_t{0}; });
  refused(text, [](auto& s) { array<std::uint64_t>(s, "constraint_sizes").back() -= 1; });
  refused(text, [](auto& s) { array<std::uint64_t>(s, "constraint_offsets").back() += 1; });
  refused(text, [](auto& s) { array<std::uint64_t>(s, "constraint_offsets")[0] = 1'000'000; });
  refused("label", [](auto& s) { array<std::uint8_t>(s, "constraint_outputs")[0] = 99; });
  refused("dual variable 0", [](auto& s) { array<double>(s, "duals")[0] = not_a_number; });
}

TEST("one_slack: a stop request ends the work on the cache") {
  dual_states::check_stops_within<OneSlack>({.cache = 5});
}
