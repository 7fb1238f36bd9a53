// Inference on all threads with a barrier, updates in one: MS-DCD of demi-dcd-2013 (section 4), for any dual learner.
//
// A pass is searched in `rounds` pieces; the paper has one. A round searches its examples in parallel with the weights
// as they are, which adds to the working sets the candidates whose violation exceeds the block's slack by delta;
// Equation 11 prints 1/2 sum a for that slack where 1/(2C) sum a is meant. After the barrier the master improves the
// block of every example that was searched. After the last round it goes over all blocks as often as the learner wants.
// The more rounds, the newer are the weights that searches see, and the fewer passes it takes. The result does not
// depend on the number of threads, nor of the parts of a world, if these search.
//
// With several learners, each takes its share of the examples of a round, which are its own until the end of the pass.
// They change the same weights by atomic additions, under a safeguard, and results differ from run to run.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "core/team.hpp"
#include "core/weight_marks.hpp"
#include "engines/dual_engine.hpp"
#include "engines/safeguard.hpp"
#include "engines/searches.hpp"

namespace marginloom {

struct MasterWorkerOptions {
  int threads = 1;
  std::size_t rounds = 1;  // of a pass, at least one; no more than there are examples
  int learners = 1;        // of the threads
};

class MasterWorker final : public DualEngine {
 public:
  // Throws std::invalid_argument if there are to be several learners, and steps of this one cannot be made side by
  // side.
  MasterWorker(std::shared_ptr<const Task> task, std::shared_ptr<BlockLearner> learner,
               std::vector<std::size_t> examples, OrderOptions order, MasterWorkerOptions options);

  void import_state(const StateArrays& state) override;

 private:
  // One of several threads that learn, and the examples that are its own in this pass.
  struct alignas(64) LearningThread {
    LearningThread(BlockLearner& learner, SkippedSearches& skipped) : worker(learner, skipped) {}

    Worker worker;
    std::vector<std::size_t> examples = {};
  };

  Team* team() override { return &team_; }
  [[nodiscard]] bool works_in_parts() const override { return true; }
  void search_pass(PassReport& report, StopRequest& stop) override;
  void inner_passes(PassReport& report, StopRequest& stop) override;
  double check(double squared_norm, bool whole_pass) override;

  // Searches these examples, here or in the parts of a world, and learns from them; false if it was stopped.
  [[nodiscard]] bool search_and_learn(std::span<const std::size_t> examples, PassReport& report, StopRequest& stop);
  // Takes in what searches of these examples have found, the first of which has that place among all; false if it was
  // stopped.
  [[nodiscard]] bool learn(std::size_t first, std::span<const std::size_t> examples, PassReport& report,
                           StopRequest& stop);
  // The same for a thread's share of the searches: those whose places after the first leave its number if divided by
  // how many there are.
  struct Share {
    std::size_t first = 0;
    std::size_t number = 0;
    std::size_t of = 1;
  };
  [[nodiscard]] bool take_in(std::span<const std::size_t> examples, Share share, Worker& worker, const Access& access);

  void begin_learning();
  // Calls work(number, access) on every thread that learns, one of several; false if it was stopped.
  [[nodiscard]] bool on_learners(const std::function<void(std::size_t, const Access&)>& work, PassReport& report,
                                 StopRequest& stop);
  void end_learning(PassReport& report, StopRequest& stop);
  [[nodiscard]] bool alone() const { return learning_.empty(); }
  // What a single thread writes by where parts are told what has changed.
  [[nodiscard]] WeightWriter marking_writer();

  MasterWorkerOptions parallel_;
  Team team_;
  Searching searching_;
  Searches found_;
  std::deque<LearningThread> learning_;   // none if the calling thread learns alone
  std::unique_ptr<Safeguard> safeguard_;  // if there are any
  std::atomic<bool> ending_{false};
  std::unique_ptr<ChangedWeights> changed_;  // since the last question, if there is a world
};

}  // namespace marginloom
