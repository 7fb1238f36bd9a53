// What all engines that drive an online learner share: passes, weights and state.
#pragma once

#include <cstddef>
#include <memory>

#include "core/candidate.hpp"
#include "core/random.hpp"
#include "engines/engine.hpp"
#include "learners/online_learner.hpp"

namespace marginloom {

// Counts a search that asked for this and brought that.
void count_search(const FindOptions& asked, double violation, const CandidateBatch& found, PassReport& report);

class OnlineEngine : public Engine {
 public:
  OnlineEngine(std::shared_ptr<const Task> task, std::shared_ptr<OnlineLearner> learner, std::uint64_t seed)
      : Engine(std::move(task)), learner_(std::move(learner)), random_(seed) {}

  bool weights_are_final() const override { return false; }
  void final_weights(std::span<double> result) const override;
  StateArrays export_state() const override;
  void import_state(const StateArrays& state) override;

 protected:
  // Searches every example once and steps on what is found; fills in what it knows of the report: times, counts,
  // training_loss as a sum.
  virtual void search_pass(PassReport& report, StopRequest& stop) = 0;

  std::shared_ptr<OnlineLearner> learner_;
  Random random_;
  std::size_t known_right_ = 0;  // examples of this pass without a loss that need no search

 private:
  PassReport do_pass(StopRequest& stop) final;
  std::optional<Certificate> do_certify(int, StopRequest&) final { return std::nullopt; }
};

}  // namespace marginloom
