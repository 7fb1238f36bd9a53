#include "learners/passive_aggressive.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "learners/registered_learner.hpp"

namespace marginloom {

PassiveAggressive::PassiveAggressive(std::shared_ptr<const Task> task, std::vector<double> costs, Parameters parameters)
    : task_(std::move(task)),
      costs_(std::move(costs)),
      parameters_(parameters),
      average_(task_->dimension(), parameters.averaged) {
  if (costs_.size() != task_->size()) throw std::invalid_argument("one cost per example is needed");
}

FindOptions PassiveAggressive::search() const {
  // A margin that a step has just met may be off by rounding; that is no violation.
  if (parameters_.loss_augmented) return {.k = 1, .loss_scale = 1, .min_violation = 1e-9};
  return {.k = 1, .loss_scale = 0};
}

std::size_t PassiveAggressive::step(const CandidateBatch& candidates, std::span<double> w) {
  std::size_t updates = 0;
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    const Candidate candidate = candidates[k];
    const double violation = candidate.loss - dot_difference(*task_, candidate, w);
    if (!(candidate.squared_norm > 0) || !(violation > 0)) continue;
    const double size = step_size(violation, candidate.squared_norm, costs_[candidate.example]);
    add_difference(*task_, candidate, size, {w.data()});
    average_.note(*task_, candidate, size);
    ++updates;
  }
  average_.tick();
  return updates;
}

double PassiveAggressive::step_size(double violation, double squared_norm, double cost) const {
  if (parameters_.variant == Variant::pa) return violation / squared_norm;
  if (parameters_.variant == Variant::pa_i) return std::min(violation / squared_norm, cost);
  return violation / (squared_norm + 1 / (2 * cost));
}

namespace {

using PaVariant = PassiveAggressive::Variant;
constexpr std::array<Word<PaVariant>, 3> pa_variant_words{
    {{"pa", PaVariant::pa}, {"pa-i", PaVariant::pa_i}, {"pa-ii", PaVariant::pa_ii}}};

const LearnerRegistration<PassiveAggressive> registered_passive_aggressive(
    "passive-aggressive", RowNumbers::costs,
    {parameter("variant", &PassiveAggressive::Parameters::variant, pa_variant_words),
     parameter("loss_augmented", &PassiveAggressive::Parameters::loss_augmented),
     parameter("averaged", &PassiveAggressive::Parameters::averaged)});

}  // namespace

}  // namespace marginloom
