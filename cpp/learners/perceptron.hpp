// The structured perceptron (parameter-mixing-2010, section 3), plain and averaged.
//
//   predict  y' = argmax_y w.phi(x_i, y)
//   update   if y' != y_i:  w <- w + s_i (phi(x_i, y_i) - phi(x_i, y'))    s_i: the instance's weight, usually 1
//            of a batch: the mean of these differences over the examples of the batch that have y' != y_i, not over all
//            (minibatch-2013, section 3)
//   average  (w_1 + ... + w_T) / T, where w_t are the weights after step t, an example or a batch, updated or not
#pragma once

#include <memory>
#include <vector>

#include "learners/averaging.hpp"
#include "learners/online_learner.hpp"

namespace marginloom {

class Perceptron final : public OnlineLearner {
 public:
  struct Parameters {
    bool averaged = true;
  };

  Perceptron(std::shared_ptr<const Task> task, std::vector<double> instance_weights, Parameters parameters);

  const Task& task() const override { return *task_; }
  FindOptions search() const override { return {.k = 1, .loss_scale = 0}; }
  std::size_t step(const CandidateBatch& candidates, std::span<double> w) override;
  void final_weights(std::span<const double> w, std::span<double> result) const override {
    average_.write(w, 1, result);
  }
  std::unique_ptr<OnlineLearner> fresh_copy() const override {
    return std::make_unique<Perceptron>(task_, instance_weights_, Parameters{.averaged = average_.on()});
  }
  Averaging* averaging() override { return &average_; }
  StateArrays export_state() const override { return average_.export_state(); }
  void import_state(const StateArrays& state) override { average_.import_state(state); }

 private:
  std::shared_ptr<const Task> task_;
  std::vector<double> instance_weights_;
  Averaging average_;
};

}  // namespace marginloom
