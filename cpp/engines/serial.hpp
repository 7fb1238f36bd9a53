// One thread, one example after the other; or a learner that makes whole passes, with all threads inside.
#pragma once

#include <memory>
#include <vector>

#include "engines/dual_engine.hpp"
#include "engines/online_engine.hpp"
#include "engines/pass_order.hpp"
#include "engines/sweep_average.hpp"
#include "learners/pass_learner.hpp"

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

// Has the weights, the random state and the mean of a learner that makes passes by itself.
class SerialPasses final : public Engine {
 public:
  // `rows` are the ones to visit.
  SerialPasses(std::shared_ptr<const Task> task, std::shared_ptr<PassLearner> learner, std::vector<std::size_t> rows,
               OrderOptions options, int threads);

  bool weights_are_final() const override { return average_.empty(); }
  void final_weights(std::span<double> result) const override;
  StateArrays export_state() const override;
  void import_state(const StateArrays& state) override;
  void forget_averages() override { average_.begin(); }

 private:
  PassReport do_pass(StopRequest& stop) override;
  std::optional<Certificate> do_certify(int threads, StopRequest& stop) override;
  [[nodiscard]] PassLearner::Work work(int threads, StopRequest& stop) {
    return {rows_, weights_.values(), threads, stop};
  }

  std::shared_ptr<PassLearner> learner_;
  std::vector<std::size_t> rows_;
  OrderOptions options_;
  Random random_;
  int threads_;
  SweepAverage average_;  // of the last pass, if the learner wants it
};

}  // namespace marginloom
