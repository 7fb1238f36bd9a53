// One thread, one example after the other.
#pragma once

#include <memory>
#include <vector>

#include "engines/dual_engine.hpp"
#include "engines/engine.hpp"
#include "engines/visiting.hpp"
#include "learners/online_learner.hpp"

namespace marginloom {

class SerialOnline final : public Engine {
 public:
  // `examples` are the ones to visit.
  SerialOnline(std::shared_ptr<const Task> task, std::shared_ptr<OnlineLearner> learner,
               std::vector<std::size_t> examples, VisitOptions options);

  std::optional<Certificate> certify(int, StopRequest&) override { return std::nullopt; }
  bool weights_are_final() const override { return false; }
  void final_weights(std::span<double> result) const override;
  StateArrays export_state() const override;
  void import_state(const StateArrays& state) override;

 private:
  PassReport do_pass(StopRequest& stop) override;
  void visit_all(PassReport& report, StopRequest& stop);

  std::shared_ptr<OnlineLearner> learner_;
  std::vector<std::size_t> examples_;
  VisitOptions options_;
  Random random_;
  std::unique_ptr<Scratch> scratch_;
};

// Algorithms 2 and 3 of dcd-ssvm-2013 for any dual learner. A pass here is inference and improvement for
// every example and then the learner's inner passes over the blocks; the paper puts those first, where they
// do nothing in the first iteration, so the sequence of steps is the same.
class SerialDual final : public DualEngine {
 public:
  SerialDual(std::shared_ptr<const Task> task, std::shared_ptr<DualLearner> learner, std::vector<std::size_t> examples,
             VisitOptions options);

 private:
  void search_pass(PassReport& report, StopRequest& stop) override;

  std::unique_ptr<Scratch> scratch_;
};

}  // namespace marginloom
