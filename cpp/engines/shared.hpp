// All threads search and learn on the same weights, without a barrier: FastSSVM with shared weights (fastssvm-2021,
// section 4.2.2), for learners whose steps concern one block.
//
// In a pass every thread takes its own examples, in random order, and then what others have left of theirs: a thread
// that runs while the others are put aside must not fit the weights to its part alone. It owns what it has taken until
// the end of the pass: it searches them, improves their blocks, goes over its blocks as often as the learner wants, and
// waits for the others at the end of the pass only. The paper guards the weights by one lock; here every change of a
// weight is one atomic addition, and what a visit does to a weight is added once, at its end.
//
// Steps of different threads may be too long together; safeguard.hpp says what is done about it. One thread
// repeats itself to the bit.
//
// Searches read weights while others write them, so a score may mix older and newer ones; each weight is read whole.
// Results differ from run to run. Their certificates, which recompute the weights from the duals, say how good they
// are.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/team.hpp"
#include "engines/dual_engine.hpp"
#include "engines/safeguard.hpp"

namespace marginloom {

struct SharedOptions {
  int threads = 1;
  std::function<void()> at_example = [] {};  // for tests: called between a search and the step that follows from it
};

class Shared final : public DualEngine {
 public:
  Shared(std::shared_ptr<const Task> task, std::shared_ptr<BlockLearner> learner, std::vector<std::size_t> examples,
         OrderOptions order, SharedOptions options);

  void import_state(const StateArrays& state) override;

  // How often the curvature of a weight counts at most.
  [[nodiscard]] double damping() const { return safeguard_ ? safeguard_->damping().most : 1; }

 private:
  // One thread's examples in a pass, and what it does with them.
  struct alignas(64) Part {
    explicit Part(Worker&& worker) : worker(std::move(worker)) {}

    std::vector<std::size_t> own = {};         // examples that it takes before others, in the order of this pass
    std::atomic<std::size_t> taken{0};         // of its own ones, by any thread
    std::size_t from = 0;                      // whose examples it takes, counted from its own
    std::span<const std::size_t> coming = {};  // taken and not searched
    std::vector<std::size_t> searched = {};
    Worker worker;
  };

  Team* team() override { return &team_; }
  void search_pass(PassReport& report, StopRequest& stop) override;
  void inner_passes(PassReport&, StopRequest&) override {}  // they are part of the search pass
  double check(double squared_norm, bool whole_pass) override;

  void deal_out();
  void learn_part(std::size_t thread, StopRequest& stop);
  void search_part(std::size_t thread, const Access& access);
  [[nodiscard]] bool take_examples(std::size_t thread);

  SharedOptions parallel_;
  Team team_;
  std::deque<Part> parts_;
  std::unique_ptr<Safeguard> safeguard_;  // if there are several threads
  std::atomic<bool> ending_{false};
};

}  // namespace marginloom
