// One thread, one example after the other.
#pragma once

#include <memory>
#include <vector>

#include "engines/dual_engine.hpp"
#include "engines/online_engine.hpp"
#include "engines/pass_order.hpp"

namespace marginloom {

class SerialOnline final : public OnlineEngine {
 public:
  // `examples` are the ones to visit.
  SerialOnline(std::shared_ptr<const Task> task, std::shared_ptr<OnlineLearner> learner,
               std::vector<std::size_t> examples, OrderOptions options);

 private:
  void search_pass(PassReport& report, StopRequest& stop) override;

  std::vector<std::size_t> examples_;
  OrderOptions options_;
  std::unique_ptr<Scratch> scratch_;
};

// Algorithms 2 and 3 of dcd-ssvm-2013 for any dual learner. A pass here is inference and improvement for
// every example and then the learner's inner passes over the blocks; the paper puts those first, where they
// do nothing in the first iteration, so the sequence of steps is the same.
class SerialDual final : public DualEngine {
 public:
  SerialDual(std::shared_ptr<const Task> task, std::shared_ptr<BlockLearner> learner, std::vector<std::size_t> examples,
             OrderOptions options);

 private:
  void search_pass(PassReport& report, StopRequest& stop) override;
};

}  // namespace marginloom
