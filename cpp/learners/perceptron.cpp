#include "learners/perceptron.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace marginloom {

Perceptron::Perceptron(std::shared_ptr<const Task> task, std::vector<double> instance_weights, bool averaged)
    : task_(std::move(task)),
      instance_weights_(std::move(instance_weights)),
      late_(averaged ? task_->dimension() : 0, 0.0) {
  if (instance_weights_.size() != task_->size()) throw std::invalid_argument("one weight per example is needed");
}

void Perceptron::step(const CandidateBatch& candidates, const PlainWeights& w, Lane& lane) {
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    const Candidate candidate = candidates[k];
    const double size = instance_weights_[candidate.example];
    add_difference(*task_, candidate, size, w);
    if (!late_.empty() && clock_ > 0) {
      add_difference(*task_, candidate, size * static_cast<double>(clock_), PlainWeights{late_.data()});
    }
    ++lane.updates;
  }
  ++clock_;
}

void Perceptron::final_weights(std::span<const double> w, std::span<double> result) const {
  if (late_.empty() || clock_ == 0) {
    std::ranges::copy(w, result.begin());
    return;
  }
  const auto steps = static_cast<double>(clock_);
  for (std::size_t k = 0; k < w.size(); ++k) result[k] = (steps * w[k] - late_[k]) / steps;
}

StateArrays Perceptron::export_state() const {
  return {{"perceptron_late", late_}, {"perceptron_clock", std::vector<std::uint64_t>{clock_}}};
}

void Perceptron::import_state(const StateArrays& state) {
  const auto& late = state_array<double>(state, "perceptron_late");
  const auto& clock = state_array<std::uint64_t>(state, "perceptron_clock");
  if (late.size() != late_.size() || clock.size() != 1) {
    throw std::invalid_argument("the state is not one of this perceptron: it averages " + std::to_string(late_.size()) +
                                " weights, the state " + std::to_string(late.size()));
  }
  if (!all_finite(late)) throw std::invalid_argument("'perceptron_late' of the state has NaN or infinite values");
  late_ = late;
  clock_ = clock[0];
}

}  // namespace marginloom
