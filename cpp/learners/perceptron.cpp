#include "learners/perceptron.hpp"

#include <stdexcept>
#include <utility>

#include "learners/registered_learner.hpp"

namespace marginloom {

Perceptron::Perceptron(std::shared_ptr<const Task> task, std::vector<double> instance_weights, Parameters parameters)
    : task_(std::move(task)),
      instance_weights_(std::move(instance_weights)),
      average_(task_->dimension(), parameters.averaged) {
  if (instance_weights_.size() != task_->size()) throw std::invalid_argument("one weight per example is needed");
}

std::size_t Perceptron::step(const CandidateBatch& candidates, std::span<double> w) {
  std::size_t updates = 0;
  const auto violated = static_cast<double>(candidates.size());
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    const Candidate candidate = candidates[k];
    const double size = instance_weights_[candidate.example] / violated;
    add_difference(*task_, candidate, size, {w.data()});
    average_.note(*task_, candidate, size);
    ++updates;
  }
  average_.tick();
  return updates;
}

namespace {

const LearnerRegistration<Perceptron> registered_perceptron("perceptron", RowNumbers::instance_weights,
                                                            {parameter("averaged", &Perceptron::Parameters::averaged)});

}  // namespace

}  // namespace marginloom
