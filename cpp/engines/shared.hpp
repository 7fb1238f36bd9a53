// All threads search and learn on the same weights, without a barrier: FastSSVM with shared weights (fastssvm-2021,
// section 4.2.2), for learners whose steps concern one block.
//
// In a pass the threads take examples, in random order and as many as each gets done, and own them until its end. A
// thread searches them, improves their blocks, goes over its blocks as often as the learner wants, and waits for the
// others at the end of the pass only. (Were the examples dealt out once and for all, a thread that runs while the
// others are put aside would fit the weights to its part, and another one to the next: many more passes.) The paper
// guards the weights by one lock; here every change of a weight is one atomic addition, and what a visit does to a
// weight is added once, at its end.
//
// Several threads leave out steps of inner passes that gain less than `least_gain` times the mean: those cost as many
// transfers of cache lines as the others and bring little.
//
// A step that was computed before another thread's step was seen is too long where both go the same way. The dual after
// a pass is known, and so is what the threads believe to have gained. Where they gained far less, the squared norms in
// their steps count `caution` times from then on, at most as often as there are threads; where the two agree, caution
// falls again, slowly. One thread never needs any.
//
// Searches read weights while others write them, so a score may mix older and newer ones; each weight is read whole.
// Results differ from run to run. Their certificates, which recompute the weights from the duals, say how good they
// are.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "core/team.hpp"
#include "engines/dual_engine.hpp"

namespace marginloom {

struct SharedOptions {
  int threads = 1;
  double least_gain = 0;                     // of a step, as a share of the mean; from 0 to 1
  std::function<void()> at_example = [] {};  // for tests: called between a search and the step that follows from it
};

class Shared final : public DualEngine {
 public:
  Shared(std::shared_ptr<const Task> task, std::shared_ptr<DualLearner> learner, std::vector<std::size_t> examples,
         VisitOptions visiting, SharedOptions options);

  void import_state(const StateArrays& state) override;

  [[nodiscard]] double caution() const { return caution_; }

 private:
  // One thread's examples and what it found out in a pass.
  struct alignas(64) Part {
    std::vector<std::size_t> examples;
    std::size_t next = 0;  // places in the order that it has taken and not come to
    std::size_t end = 0;
    std::unique_ptr<Scratch> scratch;
    Visitor visitor;
    PassReport report;
    double loss_sum = 0;
    double gain = 0;
  };

  Team* team() override { return &team_; }
  void search_pass(PassReport& report, StopRequest& stop) override;
  void inner_passes(PassReport&, StopRequest&) override {}  // they are part of the search pass
  void note_dual(double dual, bool whole_pass) override;

  void learn_part(Part& part, StopRequest& stop);
  void search_part(Part& part, const Access& access);
  [[nodiscard]] std::size_t next_example(Part& part);
  void wait_for_others(StopRequest& stop);
  void leave();
  void collect(PassReport& report);

  SharedOptions parallel_;
  Team team_;
  std::vector<Part> parts_;
  std::vector<std::size_t> order_;  // of the examples in this pass
  std::atomic<std::size_t> taken_{0};
  double caution_ = 1;
  double dual_ = 0;  // after the last pass; not a number if it is not known
  std::atomic<bool> ending_{false};
  std::mutex mutex_;
  std::condition_variable left_;
  std::size_t at_work_ = 0;  // threads that have not finished their part; guarded by mutex_
};

}  // namespace marginloom
