// Inference on all threads with a barrier, updates in one: MS-DCD of demi-dcd-2013 (section 4), for any dual learner.
//
// A pass searches all examples in parallel with the weights as they are, which adds to the working sets the candidates
// whose violation exceeds the block's slack by delta; Equation 11 prints 1/2 sum a for that slack where 1/(2C) sum a is
// meant. After the barrier the master improves the block of every example that was searched, and then all blocks as
// often as the learner wants. The result does not depend on the number of threads, nor of the parts of a world, if
// these search.
#pragma once

#include <memory>
#include <vector>

#include "core/team.hpp"
#include "engines/dual_engine.hpp"
#include "engines/searches.hpp"

namespace marginloom {

class MasterWorker final : public DualEngine {
 public:
  MasterWorker(std::shared_ptr<const Task> task, std::shared_ptr<BlockLearner> learner,
               std::vector<std::size_t> examples, OrderOptions options, int threads);

 private:
  Team* team() override { return &team_; }
  [[nodiscard]] bool works_in_parts() const override { return true; }
  void search_pass(PassReport& report, StopRequest& stop) override;
  // Here or in the parts of a world; false if it was stopped.
  [[nodiscard]] bool search(std::span<const std::size_t> examples, PassReport& report, StopRequest& stop);
  void learn(std::span<const std::size_t> examples, PassReport& report, StopRequest& stop);

  Team team_;
  Searching searching_;
  Searches found_;
};

}  // namespace marginloom
