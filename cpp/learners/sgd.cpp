#include "learners/sgd.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

#include "core/objective.hpp"
#include "learners/registered_learner.hpp"

namespace marginloom {
namespace {

constexpr std::size_t kSample = 1000;
constexpr double kTrials[] = {0.5, 0.25, 0.125, 0.0625, 0.03125};
constexpr double kSmallScale = 1e-3;  // 1 / scale is what averages and searches lose in precision

std::vector<std::size_t> sampled(std::span<const std::size_t> examples, Random& random) {
  std::vector<std::size_t> result(examples.begin(), examples.end());
  random.shuffle(std::span(result));
  result.resize(std::min(result.size(), kSample));
  return result;
}

}  // namespace

Sgd::Sgd(std::shared_ptr<const Task> task, std::vector<double> instance_weights, Parameters parameters)
    : task_(std::move(task)),
      instance_weights_(std::move(instance_weights)),
      parameters_(parameters),
      examples_(static_cast<double>(std::ranges::count_if(instance_weights_, [](double s) { return s > 0; }))),
      average_(task_->dimension(), parameters.averaged) {
  if (instance_weights_.size() != task_->size()) throw std::invalid_argument("one weight per example is needed");
}

bool Sgd::prepare(std::span<const std::size_t> examples, Random& random, StopRequest& stop) {
  if (parameters_.eta0 > 0) return true;
  const auto sample = sampled(examples, random);
  const auto cost = [&](std::size_t i) { return parameters_.C * instance_weights_[i]; };
  const auto scratch = task_->make_scratch();
  std::vector<double> v(task_->dimension());
  CandidateBatch found;
  double lowest = std::numeric_limits<double>::infinity();
  double best = kTrials[0];
  for (const double eta_0 : kTrials) {
    Sgd trial(task_, instance_weights_, {parameters_.C, eta_0, parameters_.averaged});
    trial.examples_ = static_cast<double>(sample.size());
    std::ranges::fill(v, 0.0);
    for (const std::size_t i : sample) {
      if (stop.stopped()) return false;
      found.clear();
      task_->find(i, v, trial.search(), *scratch, found);
      trial.step(found, v);
    }
    trial.final_weights(v, v);
    const Primal primal = primal_value(*task_, v, sample, cost, Loss::hinge, 1, stop);
    if (!primal.complete) return false;
    if (primal.value < lowest) {
      lowest = primal.value;
      best = eta_0;
    }
  }
  parameters_.eta0 = best;
  return true;
}

std::size_t Sgd::step(const CandidateBatch& candidates, std::span<double> v) {
  std::size_t updates = 0;
  const double passes = static_cast<double>(seen_) / examples_;
  const double eta = parameters_.eta0 / std::pow(1 + parameters_.eta0 * passes / parameters_.C, 0.75);
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    const Candidate candidate = candidates[k];
    const double size = eta * instance_weights_[candidate.example] / scale_;
    add_difference(*task_, candidate, size, {v.data()});
    average_.note(*task_, candidate, size);
    ++updates;
  }
  scale_ /= 1 + eta / (parameters_.C * examples_);
  if (scale_ < kSmallScale) fold(v);
  average_.tick(scale_);
  ++seen_;
  return updates;
}

void Sgd::fold(std::span<double> v) {
  average_.rebase(v);
  for (double& value : v) value *= scale_;
  scale_ = 1;
}

StateArrays Sgd::export_state() const {
  StateArrays state = average_.export_state();
  state["sgd_numbers"] = std::vector<double>{parameters_.eta0, scale_};
  state["sgd_seen"] = std::vector<std::uint64_t>{seen_};
  return state;
}

void Sgd::import_state(const StateArrays& state) {
  const auto& numbers = state_array<double>(state, "sgd_numbers");
  const auto& seen = state_array<std::uint64_t>(state, "sgd_seen");
  if (numbers.size() != 2 || seen.size() != 1) throw std::invalid_argument("'sgd_numbers' of the state is not two");
  if (!all_finite(numbers) || numbers[0] < 0 || !(numbers[1] > 0)) {
    throw std::invalid_argument("'sgd_numbers' of the state has values that cannot be");
  }
  average_.import_state(state);
  if (parameters_.eta0 == 0) parameters_.eta0 = numbers[0];  // one that was given stays
  scale_ = numbers[1];
  seen_ = seen[0];
}

namespace {

const LearnerRegistration<Sgd> registered_sgd("sgd", RowNumbers::instance_weights,
                                              {parameter("C", &Sgd::Parameters::C),
                                               parameter("eta0", &Sgd::Parameters::eta0),
                                               parameter("averaged", &Sgd::Parameters::averaged)});

}  // namespace

}  // namespace marginloom
