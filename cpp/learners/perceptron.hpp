// The structured perceptron (parameter-mixing-2010, section 3), plain and averaged.
//
//   predict  y' = argmax_y w.phi(x_i, y)
//   update   if y' != y_i:  w <- w + s_i (phi(x_i, y_i) - phi(x_i, y'))       s_i: the instance's weight,
//   usually 1 average  (w_1 + ... + w_T) / T, where w_t are the weights after example t, updated or not
//
// The average costs nothing per example: a change made at example t is missing from w_1 ... w_{t-1}, so with
// u = sum_t (t - 1) * change_t the average is (T w - u) / T. In this form it is exact, to the last bit,
// whenever all changes are whole numbers.
#pragma once

#include <memory>
#include <vector>

#include "learners/learner.hpp"

namespace marginloom {

class Perceptron final : public OnlineLearner {
 public:
  Perceptron(std::shared_ptr<const Task> task, std::vector<double> instance_weights, bool averaged);

  const Task& task() const override { return *task_; }
  FindOptions search() const override { return {.k = 1, .loss_scale = 0}; }
  void step(const CandidateBatch& candidates, const PlainWeights& w, Lane& lane) override;
  void final_weights(std::span<const double> w, std::span<double> result) const override;
  StateArrays export_state() const override;
  void import_state(const StateArrays& state) override;

 private:
  std::shared_ptr<const Task> task_;
  std::vector<double> instance_weights_;
  std::vector<double> late_;  // u, empty if not averaged
  std::uint64_t clock_ = 0;   // t - 1
};

}  // namespace marginloom
