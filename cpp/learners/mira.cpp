#include "learners/mira.hpp"

#include <limits>
#include <stdexcept>
#include <utility>

#include "learners/registered_learner.hpp"

namespace marginloom {

Mira::Mira(std::shared_ptr<const Task> task, std::vector<double> costs, Parameters parameters)
    : task_(std::move(task)),
      costs_(std::move(costs)),
      parameters_(parameters),
      average_(task_->dimension(), parameters.averaged) {
  if (costs_.size() != task_->size()) throw std::invalid_argument("one cost per example is needed");
  if (parameters_.unbounded) costs_.assign(costs_.size(), std::numeric_limits<double>::infinity());
}

FindOptions Mira::search() const {
  const double tolerance = parameters_.qp_tolerance;
  if (parameters_.loss_augmented) return {.k = parameters_.k_best, .loss_scale = 1, .min_violation = tolerance};
  // The best output is violated by definition if it is not gold. For the others a tie may have been broken by rounding.
  if (parameters_.k_best == 1) return {.k = 1, .loss_scale = 0};
  return {.k = parameters_.k_best, .loss_scale = 0, .min_violation = -tolerance};
}

std::size_t Mira::step(const CandidateBatch& candidates, std::span<double> w) {
  std::size_t updates = 0;
  kept_.clear();
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    if (candidates[k].squared_norm > 0) kept_.push_back(k);
  }
  if (!kept_.empty()) {
    programme_.reset(kept_.size());
    for (std::size_t j = 0; j < kept_.size(); ++j) {
      const Candidate candidate = candidates[kept_[j]];
      const double missing = candidate.loss - dot_difference(*task_, candidate, w);
      programme_.set(j, candidate.example, costs_[candidate.example], missing, candidate.squared_norm);
    }
    set_products(candidates);
    const auto duals = programme_.solve({parameters_.qp_tolerance, parameters_.qp_sweeps});
    for (std::size_t j = 0; j < kept_.size(); ++j) {
      if (duals[j] == 0) continue;
      const Candidate candidate = candidates[kept_[j]];
      add_difference(*task_, candidate, duals[j], {w.data()});
      average_.note(*task_, candidate, duals[j]);
      ++updates;
    }
  }
  average_.tick();
  return updates;
}

void Mira::set_products(const CandidateBatch& candidates) {
  if (kept_.size() < 2) return;
  if (candidates[kept_.front()].implicit) {
    set_implicit_products(candidates);
    return;
  }
  std::size_t entries = 0;
  for (const std::size_t k : kept_) entries += candidates[k].difference.size();
  products_.reset(kept_.size(), entries);
  for (std::size_t j = 0; j < kept_.size(); ++j) {
    products_.add(candidates[kept_[j]].difference);
    for (std::size_t k = 0; k < j; ++k) programme_.set_product(j, k, products_.of(j, k));
  }
}

void Mira::set_implicit_products(const CandidateBatch& candidates) {
  difference_.resize(task_->dimension(), 0.0);
  for (std::size_t j = 1; j < kept_.size(); ++j) {
    const Candidate one = candidates[kept_[j]];
    add_difference(*task_, one, 1, {difference_.data()});
    for (std::size_t k = 0; k < j; ++k) {
      programme_.set_product(j, k, dot_difference(*task_, candidates[kept_[k]], difference_));
    }
    // Values have single precision, so that their sums in double precision cancel to 0.
    add_difference(*task_, one, -1, {difference_.data()});
  }
}

namespace {

const LearnerRegistration<Mira> registered_mira(
    "mira", RowNumbers::costs,
    {parameter("k_best", &Mira::Parameters::k_best), parameter("loss_augmented", &Mira::Parameters::loss_augmented),
     parameter("unbounded", &Mira::Parameters::unbounded), parameter("qp_tolerance", &Mira::Parameters::qp_tolerance),
     parameter("qp_sweeps", &Mira::Parameters::qp_sweeps), parameter("averaged", &Mira::Parameters::averaged)});

}  // namespace

}  // namespace marginloom
