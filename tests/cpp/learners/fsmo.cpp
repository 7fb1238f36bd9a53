// FSMO: its state, and being stopped.
#include "learners/fsmo.hpp"

#include <atomic>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "core/random.hpp"
#include "dual_states.hpp"
#include "engines/worker.hpp"

using dual_states::array;
using dual_states::not_a_number;
using marginloom::Fsmo;

TEST("fsmo: a restored run continues bit for bit") {
  dual_states::check_continues<Fsmo>({});
  dual_states::check_continues<Fsmo>({.batch = 4, .memory = 1});
  dual_states::check_continues<Fsmo>({.scope = Fsmo::Scope::all, .variant = Fsmo::Variant::as_published});
  dual_states::check_continues<Fsmo>({.inner_stop = true, .inner_share = 0.1});
}

TEST("fsmo: broken states are refused and change nothing") {
  for (const auto variant : {Fsmo::Variant::pairwise, Fsmo::Variant::as_published}) {
    const Fsmo::Parameters parameters{.variant = variant};
    dual_states::check_every_array_is_needed<Fsmo>(parameters);
    dual_states::check_refused<Fsmo>(parameters, "dual variable 0",
                                     [](auto& s) { array<double>(s, "duals")[0] = not_a_number; });
    dual_states::check_refused<Fsmo>(parameters, "1 examples", [](auto& s) { s["block_slacks"] = std::vector{1.0}; });
  }
}

TEST("fsmo: a stop request ends a solution over all blocks early") {
  dual_states::check_stops_within<Fsmo>({.epsilon = 1e-9, .batch = 1000});
  dual_states::check_stops_within<Fsmo>({.epsilon = 1e-9, .batch = 1000, .variant = Fsmo::Variant::as_published});
}

TEST("fsmo: as published a block never goes beyond its bound, and the gain is that of the dual") {
  const auto small = dual_states::problem();
  dual_states::Training<Fsmo> training(small, {.variant = Fsmo::Variant::as_published});
  marginloom::StopRequest never;
  double last = 0;
  for (int pass = 0; pass < 8; ++pass) {
    const double dual = training.engine.run_pass(never).dual.value();
    CHECK(dual >= last - 1e-12);
    last = dual;
    auto state = training.engine.export_state();
    std::vector<double> sums(small.size(), 0.0);
    const auto& examples = array<std::uint64_t>(state, "dual_examples");
    for (std::size_t j = 0; j < examples.size(); ++j) sums[examples[j]] += array<double>(state, "duals")[j];
    for (const double sum : sums) CHECK(sum <= dual_states::cost * (1 + 1e-12));
  }
  CHECK(last > 0);
}

TEST("fsmo: a solution ends although another thread keeps moving the weights") {
  using namespace marginloom;
  const auto small = dual_states::problem();
  const auto task = small.task();
  for (const auto variant : {Fsmo::Variant::pairwise, Fsmo::Variant::as_published}) {
    Fsmo learner(task, std::vector<double>(task->size(), dual_states::cost),
                 {.epsilon = 1e-9, .batch = 1000, .variant = variant});
    std::vector<double> w(task->dimension(), 0.0);
    std::vector<std::size_t> examples(task->size());
    std::iota(examples.begin(), examples.end(), std::size_t{0});
    SkippedSearches none(examples.size(), 0);
    Worker worker(learner, none, examples);
    for (const std::size_t i : examples) (void)worker.find(i, w, false);
    std::atomic<bool> moved{false};
    std::jthread other([&](const std::stop_token& stop) {
      for (Random random(1); !stop.stop_requested();) {
        std::atomic_ref(w[random.below(w.size())]).store(4 * problems::uniform(random));
        moved = true;
      }
    });
    while (!moved) std::this_thread::yield();
    StopRequest never;
    worker.end_part({w, {w.data(), true}, 2, never});
    CHECK(worker.updates > 0);
    CHECK(worker.updates < 1'000 * examples.size());
  }
}
