// MIRA, the margin infused relaxed algorithm, 1-best and k-best (minibatch-2013, Algorithm 3 and section 3.2).
//
//   find     Z_i = the k best outputs by w.phi(x_i, y) that are not gold and have w.d_i(y) <= 0; or, loss-augmented,
//            the k best by w.phi(x_i, y) + loss_i(y) with loss_i(y) - w.d_i(y) > 0.   d_i(y) = phi(x_i, y_i) - phi(x_i,
//            y)
//   update   w <- argmin_w'  1/2 |w' - w|^2 + sum_i C_i xi_i
//                 with  w'.d_i(y) >= loss_i(y) - xi_i,  xi_i >= 0,  for y in Z_i
//            over one example or over all examples of a batch at once; without a candidate w stays
//   dual     w' = w + sum a_iy d_i(y),  a >= 0,  sum_y a_iy <= C_i: solved by Hildreth's method (hildreth.hpp)
//   average  (w_1 + ... + w_T) / T, where w_t are the weights after step t, changed or not
//
// With one candidate that is a = min(C_i, (loss - w.d) / |d|^2), PA-I. The paper has one slack for a whole batch
// in its proof and none in its experiments; a slack per example keeps one bad example from excusing the others.
// `unbounded` is the form without slack, C_i = infinity: its programme may have no solution, and then the limit on
// sweeps ends it with finite weights. Candidates without a difference can meet no margin and are skipped.
#pragma once

#include <memory>
#include <vector>

#include "learners/averaging.hpp"
#include "learners/difference_products.hpp"
#include "learners/hildreth.hpp"
#include "learners/online_learner.hpp"

namespace marginloom {

class Mira final : public OnlineLearner {
 public:
  struct Parameters {
    int k_best = 1;
    bool loss_augmented = false;
    bool unbounded = false;
    double qp_tolerance = 1e-6;
    int qp_sweeps = 1000;
    bool averaged = true;
  };

  // `costs` are the C_i; examples with a cost of 0 are never to be visited.
  Mira(std::shared_ptr<const Task> task, std::vector<double> costs, Parameters parameters);

  const Task& task() const override { return *task_; }
  FindOptions search() const override;
  // Candidates of one example must be neighbours in the batch.
  std::size_t step(const CandidateBatch& candidates, std::span<double> w) override;
  void final_weights(std::span<const double> w, std::span<double> result) const override {
    average_.write(w, 1, result);
  }
  std::unique_ptr<OnlineLearner> fresh_copy() const override {
    return std::make_unique<Mira>(task_, costs_, parameters_);
  }
  Averaging* averaging() override { return &average_; }
  StateArrays export_state() const override { return average_.export_state(); }
  void import_state(const StateArrays& state) override { average_.import_state(state); }

 private:
  void set_products(const CandidateBatch& candidates);
  void set_implicit_products(const CandidateBatch& candidates);

  std::shared_ptr<const Task> task_;
  std::vector<double> costs_;
  Parameters parameters_;
  Averaging average_;
  Hildreth programme_;
  DifferenceProducts products_;
  std::vector<std::size_t> kept_;   // the candidates of the batch that have a difference
  std::vector<double> difference_;  // one implicit difference, all zeros between two uses; made when first needed
};

}  // namespace marginloom
