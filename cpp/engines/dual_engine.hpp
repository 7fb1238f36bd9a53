// What all engines that drive a learner of blocks share: passes over the blocks, certificates and state.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/team.hpp"
#include "engines/engine.hpp"
#include "engines/pass_order.hpp"
#include "engines/skipped_searches.hpp"
#include "engines/sweep_average.hpp"
#include "engines/worker.hpp"
#include "learners/block_learner.hpp"

namespace marginloom {

class DualEngine : public Engine {
 public:
  // `examples` are the ones to visit.
  DualEngine(std::shared_ptr<const Task> task, std::shared_ptr<BlockLearner> learner, std::vector<std::size_t> examples,
             OrderOptions options);

  bool weights_are_final() const override { return !learner_->average() && average_.empty(); }
  void final_weights(std::span<double> result) const override;
  StateArrays export_state() const override;
  void import_state(const StateArrays& state) override;
  void forget_averages() override;

  // States of disjoint examples as one (DualLearner::merged), with the weights that belong to it.
  [[nodiscard]] StateArrays merged(const StateArrays& first, const StateArrays& second) const;

 protected:
  // Searches every example once, absorbs what is found and improves blocks with it; fills in what it knows of the
  // report beyond what `worker_` has counted.
  virtual void search_pass(PassReport& report, StopRequest& stop) = 0;

  // Passes over the blocks until the next search.
  virtual void inner_passes(PassReport& report, StopRequest& stop);

  // Looks at the end of a pass, whole or cut short, given |w|^2; may move the duals and the weights. Returns |w|^2.
  virtual double check(double squared_norm, bool /*whole_pass*/) { return squared_norm; }

  std::optional<Certificate> do_certify(int threads, StopRequest& stop) override;

  // The threads of the engine, null if it has but one.
  virtual Team* team() { return nullptr; }

  // The examples to search in this pass, in their order; to be asked once a pass.
  [[nodiscard]] std::vector<std::size_t> order_of_pass();

  // A worker for a thread of its own.
  [[nodiscard]] Worker new_worker() { return Worker(*learner_, skipped_); }

  // How a thread that is alone gets at the weights.
  [[nodiscard]] Access plain_access(StopRequest& stop) {
    return {weights_.values(), {weights_.values().data()}, 1, stop};
  }

  // Adds what a worker has counted in this pass to what is known of it.
  void collect(Worker& worker, PassReport& report);

  // Tells that an inner pass over all blocks has ended, and how many dual variables it changed.
  void note_inner_pass(std::size_t updates);

  std::shared_ptr<BlockLearner> learner_;
  std::vector<std::size_t> examples_;
  OrderOptions options_;
  Random random_;            // of all passes: what is saved
  SkippedSearches skipped_;  // if the learner wants that
  Worker worker_;            // the calling thread; its updates are those of all passes and threads
  SweepAverage average_;     // of the last pass, if the learner wants it

 private:
  // One pass of inference, then the learner's passes over the blocks.
  PassReport do_pass(StopRequest& stop) final;
  [[nodiscard]] std::optional<double> squared_norm(StopRequest& stop);  // none if it was stopped

  double loss_sum_ = 0;  // sum_i C_i l(slack_i) as this pass met them
};

}  // namespace marginloom
