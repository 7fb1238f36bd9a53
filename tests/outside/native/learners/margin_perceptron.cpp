// The perceptron with a margin: it also learns from gold outputs that win by too little.
//
//   search   y' = argmax_y w.phi(x, y) + margin loss(y)
//   update   if w.d < margin loss(y'):  w <- w + s d,   d = phi(gold) - phi(y'),   s the weight of the example
//            of a batch: the mean over the examples that have such a y'
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "learners/averaging.hpp"
#include "learners/registered_learner.hpp"

namespace extras {
namespace {

using namespace marginloom;

class MarginPerceptron final : public OnlineLearner {
 public:
  struct Parameters {
    double margin = 1;
    bool averaged = true;
  };

  MarginPerceptron(std::shared_ptr<const Task> task, std::vector<double> weights, Parameters parameters)
      : task_(std::move(task)),
        weights_(std::move(weights)),
        margin_(parameters.margin),
        average_(task_->dimension(), parameters.averaged) {
    if (weights_.size() != task_->size()) throw std::invalid_argument("one weight per example is needed");
  }

  const Task& task() const override { return *task_; }
  FindOptions search() const override { return {.k = 1, .loss_scale = margin_, .min_violation = 0}; }

  std::size_t step(const CandidateBatch& found, std::span<double> w) override {
    for (std::size_t k = 0; k < found.size(); ++k) {
      const Candidate candidate = found[k];
      const double size = weights_[candidate.example] / static_cast<double>(found.size());
      add_difference(*task_, candidate, size, {w.data()});
      average_.note(*task_, candidate, size);
    }
    average_.tick();
    return found.size();
  }

  void final_weights(std::span<const double> w, std::span<double> result) const override {
    average_.write(w, 1, result);
  }
  StateArrays export_state() const override { return average_.export_state(); }
  void import_state(const StateArrays& state) override { average_.import_state(state); }

 private:
  std::shared_ptr<const Task> task_;
  std::vector<double> weights_;
  double margin_;
  Averaging average_;
};

const LearnerRegistration<MarginPerceptron> registered_margin_perceptron(
    "margin-perceptron", RowNumbers::instance_weights,
    {parameter("margin", &MarginPerceptron::Parameters::margin),
     parameter("averaged", &MarginPerceptron::Parameters::averaged)});

}  // namespace
}  // namespace extras
