// Inference on all threads with a barrier, updates in one: MS-DCD of demi-dcd-2013 (section 4), for any dual learner.
//
// A pass searches all examples in parallel with the weights as they are, which adds to the working sets the candidates
// whose violation exceeds the block's slack by delta; Equation 11 prints 1/2 sum a for that slack where 1/(2C) sum a is
// meant. After the barrier the master improves the block of every example that was searched, and then all blocks as
// often as the learner wants. The result does not depend on the number of threads.
#pragma once

#include <memory>
#include <vector>

#include "core/team.hpp"
#include "engines/dual_engine.hpp"

namespace marginloom {

class MasterWorker final : public DualEngine {
 public:
  MasterWorker(std::shared_ptr<const Task> task, std::shared_ptr<BlockLearner> learner,
               std::vector<std::size_t> examples, OrderOptions options, int threads);

 private:
  // Where the candidates of one search are.
  struct Search {
    int thread = 0;
    std::size_t first = 0;
    std::size_t count = 0;
    double slack = 0;
  };

  Team* team() override { return &team_; }
  void search_pass(PassReport& report, StopRequest& stop) override;
  bool search_all(std::span<const std::size_t> order, PassReport& report, StopRequest& stop);

  Team team_;
  std::vector<std::unique_ptr<Scratch>> scratch_;  // one per thread
  std::vector<CandidateBatch> found_;              // one per thread
  std::vector<Search> searches_;                   // in the order of the pass
};

}  // namespace marginloom
