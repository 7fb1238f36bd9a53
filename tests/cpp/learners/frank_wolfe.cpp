// Frank-Wolfe: its state, and the gap and the average that it goes on with.
#include "learners/frank_wolfe.hpp"

#include "dual_states.hpp"

using dual_states::array;
using dual_states::not_a_number;
using marginloom::FrankWolfe;
using marginloom::StateArrays;

TEST("frank_wolfe: a restored run continues bit for bit") {
  for (const bool averaged : {false, true}) {
    dual_states::check_continues<FrankWolfe>({.averaged = averaged});
    dual_states::check_continues<FrankWolfe>({.inner_passes = 3, .averaged = averaged, .memory = 1});
  }
}

TEST("frank_wolfe: broken states are refused and change nothing") {
  const FrankWolfe::Parameters parameters{.averaged = true};
  const auto refused = [&](const char* text, const std::function<void(StateArrays&)>& damage) {
    dual_states::check_refused<FrankWolfe>(parameters, text, damage);
  };
  dual_states::check_every_array_is_needed<FrankWolfe>(parameters);
  dual_states::check_every_array_is_needed<FrankWolfe>({});
  for (const char* name : {"frank_wolfe_values", "frank_wolfe_late", "frank_wolfe_sums"}) {
    refused("other lengths", [name](auto& s) {
      auto& numbers = array<double>(s, name);
      numbers.resize(numbers.size() - 2);  // earlier versions had one sum less
    });
    refused("other lengths", [name](auto& s) { array<double>(s, name).push_back(0); });
    refused("NaN", [name](auto& s) { array<double>(s, name)[0] = not_a_number; });
  }
  refused("other lengths", [](auto& s) { array<std::uint64_t>(s, "frank_wolfe_clock").clear(); });
  refused("frank_wolfe_sizes", [](auto& s) { array<std::uint64_t>(s, "frank_wolfe_sizes").back() += 1; });
  refused("frank_wolfe_indices", [](auto& s) { array<std::uint64_t>(s, "frank_wolfe_indices").back() = 1ULL << 40; });
  refused("frank_wolfe_indices", [](auto& s) {
    auto& indices = array<std::uint64_t>(s, "frank_wolfe_indices");
    std::swap(indices[0], indices[1]);
  });
  refused("dual variable 0", [](auto& s) { array<double>(s, "duals")[0] = -1; });
}

TEST("frank_wolfe: sums that do not belong to the duals are computed anew") {
  const auto small = dual_states::problem();
  dual_states::Training<FrankWolfe> source(small, {});
  source.run(3);
  const StateArrays good = source.engine.export_state();
  StateArrays bad = good;
  for (double& value : array<double>(bad, "frank_wolfe_values")) value = 1e6;
  dual_states::Training<FrankWolfe> target(small, {});
  target.engine.import_state(bad);
  StateArrays mended = target.engine.export_state();
  const auto& expected = marginloom::state_array<double>(good, "frank_wolfe_values");
  const auto& values = array<double>(mended, "frank_wolfe_values");
  CHECK(values.size() == expected.size());
  for (std::size_t k = 0; k < values.size(); ++k) CHECK_NEAR(values[k], expected[k], 1e-9);
}

TEST("frank_wolfe: duals beyond the bound are scaled down and the average starts again") {
  const auto small = dual_states::problem();
  dual_states::Training<FrankWolfe> source(small, {.averaged = true});
  source.run(3);
  StateArrays state = source.engine.export_state();
  for (double& dual : array<double>(state, "duals")) dual *= 10;
  dual_states::Training<FrankWolfe> target(small, {.averaged = true});
  target.engine.import_state(state);
  StateArrays taken = target.engine.export_state();
  CHECK(array<std::uint64_t>(taken, "frank_wolfe_clock")[0] == 0);
  for (const double value : array<double>(taken, "frank_wolfe_late")) CHECK(value == 0);
  target.run(3);
  marginloom::StopRequest never;
  const auto proof = target.engine.certify(1, never).value();
  CHECK(proof.dual > 0 && proof.dual <= proof.primal);
}
