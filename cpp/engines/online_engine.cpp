#include "engines/online_engine.hpp"

#include <algorithm>
#include <utility>

#include "engines/engine_state.hpp"

namespace marginloom {

PassReport OnlineEngine::do_pass(StopRequest& stop) {
  PassReport report;
  known_right_ = 0;
  try {
    search_pass(report, stop);
  } catch (const Interrupted&) {  // within a search
    report.stopped = true;
  }
  report.training_loss /= static_cast<double>(std::max<std::size_t>(report.inferences + known_right_, 1));
  return report;
}

void count_search(const FindOptions& asked, double violation, const CandidateBatch& found, PassReport& report) {
  ++report.inferences;
  report.wrong += found.empty() ? 0 : 1;
  if (asked.loss_scale != 0) {
    report.training_loss += violation / asked.loss_scale;
  } else if (!found.empty()) {
    report.training_loss += found[0].loss;
  }
}

void OnlineEngine::final_weights(std::span<double> result) const {
  learner_->final_weights(weights_.values(), result);
}

StateArrays OnlineEngine::export_state() const {
  return with_engine_state(learner_->export_state(), weights_.values(), random_);
}

void OnlineEngine::import_state(const StateArrays& state) {
  const auto& weights = saved_weights(state, "weights", weights_.size());
  const Random random = restored_random(state);
  learner_->import_state(state);
  random_ = random;
  std::ranges::copy(weights, weights_.values().begin());
}

}  // namespace marginloom
