// Cutting planes with a slack per example: their state, and being stopped.
#include "learners/cutting_plane.hpp"

#include "dual_states.hpp"

using dual_states::array;
using dual_states::not_a_number;
using marginloom::CuttingPlane;
using marginloom::Loss;
using marginloom::StateArrays;

TEST("cutting_plane: a restored run continues bit for bit") {
  for (const Loss loss : {Loss::hinge, Loss::squared_hinge}) {
    for (const std::size_t batch : {0, 1, 3}) {
      dual_states::check_continues<CuttingPlane>({.loss = loss, .batch = batch});
      dual_states::check_continues<CuttingPlane>({.loss = loss, .batch = batch, .memory = 1});
    }
  }
}

TEST("cutting_plane: broken states are refused and change nothing") {
  const auto refused = [](const char* text, const std::function<void(StateArrays&)>& damage) {
    dual_states::check_refused<CuttingPlane>({}, text, damage);
  };
  dual_states::check_every_array_is_needed<CuttingPlane>({});
  refused("13 examples", [](auto& s) { array<double>(s, "block_slacks").pop_back(); });
  refused("block_slacks", [](auto& s) { array<double>(s, "block_slacks")[1] = not_a_number; });
  refused("block_slacks", [](auto& s) { array<double>(s, "block_slacks")[1] = -1; });
  refused("block_slacks", [](auto& s) {  // without candidates there is nothing that accounts for slack
    s["duals"] = std::vector<double>{};
    s["dual_examples"] = std::vector<std::uint64_t>{};
    s["dual_output_offsets"] = std::vector<std::uint64_t>{0};
    array<double>(s, "block_slacks")[1] = 1e6;
  });
  refused("block_threshold", [](auto& s) { array<double>(s, "block_threshold")[0] = -1; });
}

TEST("cutting_plane: a stop request ends a solution over all blocks early") {
  dual_states::check_stops_within<CuttingPlane>({.loss = Loss::hinge, .epsilon = 1e-9, .batch = 0});
  dual_states::check_stops_within<CuttingPlane>({.loss = Loss::squared_hinge, .epsilon = 1e-9, .batch = 0});
}
