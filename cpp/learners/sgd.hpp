// Stochastic (sub)gradient descent on the hinge objective (dcd-ssvm-2013, section 4.3; Bottou 2004).
//
//   primal   F(w) = 1/2 |w|^2 + sum_i C_i xi_i,   xi_i = max(0, max_y [loss_i(y) - w.d_i(y)]),   C_i = C s_i
//   scaled   F(w) / (C n) = lambda / 2 |w|^2 + 1/n sum_i s_i xi_i   with  lambda = 1 / (C n)
//   update   of example i, whose most violated candidate has the difference d (no d if xi_i = 0):
//            w <- (w + eta_t s_i d) / (1 + eta_t lambda)
//   steps    eta_t = eta_0 / (1 + eta_0 t / C)^0.75,  t = examples seen so far / n
//   average  (w_1 + ... + w_T) / T, where w_t are the weights after example t
//
// A step goes against a stochastic gradient of F / (C n), whose expectation over i is that of F / (C n); so the
// optimum is that of F. The regulariser is taken at the new weights (a proximal step, 1 - eta lambda for small
// steps), which is stable for every C n. The steps are Bottou's eta_0 / (1 + lambda eta_0 T)^0.75 for T updates; as
// lambda = 1 / (C n), the paper's "T / C" is right with T counted in passes. Counted in single updates, steps would
// shrink n times too fast, and w would stand still long before it is large enough (docs/learners.md has figures).
//
// Lazy: w = scale * v, and the engine's buffer holds v. A step divides `scale` by 1 + eta lambda and adds
// eta s_i / scale * d to v, which costs the size of d. Searching v with the loss times 1 / scale finds what
// searching w does. Once scale is small it is multiplied into v.
//
// eta_0 is given, or is the one of 2^-1 ... 2^-5 with the lowest F after a pass over up to 1,000 sampled examples,
// where F and n are those of the sample.
#pragma once

#include <memory>
#include <vector>

#include "learners/averaging.hpp"
#include "learners/online_learner.hpp"

namespace marginloom {

class Sgd final : public OnlineLearner {
 public:
  struct Parameters {
    double C = 1;     // that of an instance of weight 1
    double eta0 = 0;  // 0: chosen by prepare()
    bool averaged = false;
  };

  // `instance_weights` are the s_i; examples with a weight of 0 are never to be visited, and n counts the others.
  Sgd(std::shared_ptr<const Task> task, std::vector<double> instance_weights, Parameters parameters);

  const Task& task() const override { return *task_; }
  Chosen chosen() const override { return {{"eta0", parameters_.eta0}}; }
  bool prepare(std::span<const std::size_t> examples, Random& random, StopRequest& stop) override;
  FindOptions search() const override { return {.k = 1, .loss_scale = 1 / scale_, .min_violation = 0}; }
  // One call is one example.
  std::size_t step(const CandidateBatch& candidates, std::span<double> v) override;
  void final_weights(std::span<const double> v, std::span<double> result) const override {
    average_.write(v, scale_, result);
  }
  StateArrays export_state() const override;
  void import_state(const StateArrays& state) override;

 private:
  void fold(std::span<double> v);

  std::shared_ptr<const Task> task_;
  std::vector<double> instance_weights_;
  Parameters parameters_;
  double examples_;  // n
  double scale_ = 1;
  std::uint64_t seen_ = 0;  // examples so far
  Averaging average_;
};

}  // namespace marginloom
