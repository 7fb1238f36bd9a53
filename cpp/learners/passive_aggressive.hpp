// Passive-aggressive learning: MIRA with one candidate, in closed form (dcd-ssvm-2013, section 2.1; Crammer et al.
// 2006, sections 3 and 7).
//
//   find     y' = argmax_y w.phi(x_i, y), or loss-augmented argmax_y w.phi(x_i, y) + loss_i(y)
//   update   w <- w + tau d,  d = phi(x_i, y_i) - phi(x_i, y'),  violation = loss_i(y') - w.d,  with
//            PA     tau = violation / |d|^2                        min 1/2 |w' - w|^2  with  w'.d >= loss
//            PA-I   tau = min(C_i, violation / |d|^2)              ... + C_i xi        with  w'.d >= loss - xi
//            PA-II  tau = violation / (|d|^2 + 1 / (2 C_i))        ... + C_i xi^2      with  w'.d >= loss - xi
//   average  (w_1 + ... + w_T) / T, where w_t are the weights after example t, updated or not
//
// Nothing happens if y' is gold, if the violation is not positive, or if the difference is zero. PA has no C: the
// weight of an instance changes nothing there, unless it is 0. Several candidates are taken one after the other.
#pragma once

#include <memory>
#include <vector>

#include "learners/averaging.hpp"
#include "learners/online_learner.hpp"

namespace marginloom {

class PassiveAggressive final : public OnlineLearner {
 public:
  enum class Variant { pa, pa_i, pa_ii };

  struct Parameters {
    Variant variant = Variant::pa_i;
    bool loss_augmented = false;
    bool averaged = true;
  };

  // `costs` are the C_i; examples with a cost of 0 are never to be visited.
  PassiveAggressive(std::shared_ptr<const Task> task, std::vector<double> costs, Parameters parameters);

  const Task& task() const override { return *task_; }
  FindOptions search() const override;
  std::size_t step(const CandidateBatch& candidates, std::span<double> w) override;
  void final_weights(std::span<const double> w, std::span<double> result) const override {
    average_.write(w, 1, result);
  }
  std::unique_ptr<OnlineLearner> fresh_copy() const override {
    return std::make_unique<PassiveAggressive>(task_, costs_, parameters_);
  }
  Averaging* averaging() override { return &average_; }
  StateArrays export_state() const override { return average_.export_state(); }
  void import_state(const StateArrays& state) override { average_.import_state(state); }

 private:
  [[nodiscard]] double step_size(double violation, double squared_norm, double cost) const;

  std::shared_ptr<const Task> task_;
  std::vector<double> costs_;
  Parameters parameters_;
  Averaging average_;
};

}  // namespace marginloom
