// Probabilities of paths through a chain and of their labels, by the forward and backward sums.
//
//   alpha_t(c) = e_t(c) sum_p alpha_{t-1}(p) E(p, c)       e_t(c) = exp(scale score_t(c)),  E = exp(scale transitions)
//   beta_t(p)  = sum_c E(p, c) e_{t+1}(c) beta_{t+1}(c)
//   p(y_t = c) = alpha_t(c) beta_t(c) / sum over all labels
//
// This is Viterbi's recursion over other numbers. The sums are tried as they stand, every row divided by its greatest
// number, as products of a row and a matrix. Where that could lose what counts, as with scores of a million, everything
// is done again with logarithms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/aligned_vector.hpp"
#include "tasks/sequence/path_marginals.hpp"
#include "tasks/sequence/viterbi.hpp"

namespace marginloom {

struct ChainTransitions {
  const double* scores;  // a row per label: to the labels that follow
  std::size_t labels;
  std::size_t stride;
  const LocalTransitions* local = nullptr;  // what is added at single tokens, if anything is
};

class ChainMarginals final : public PathMarginals {
 public:
  // Takes the scores of labels, a row of the transitions' stride per token. Minus infinity is forbidden. Scores and
  // transitions must stay until the last question.
  void start(std::span<const double> scores, const ChainTransitions& transitions);

  [[nodiscard]] bool compute(double scale) override;
  void write_token(std::size_t t, double* result) const override;
  [[nodiscard]] double log_marginal(std::size_t t, std::size_t label) const override;
  [[nodiscard]] double log_probability(std::size_t first, std::span<const Labels> labels) const override;

 private:
  template <class Numbers>
  [[nodiscard]] bool sum_paths(double scale);
  template <class Numbers>
  void find_steps(double scale);
  // The steps into the labels of a token, by the label before, or by the label itself.
  template <class Numbers>
  [[nodiscard]] const double* steps_into(std::size_t t, bool back);
  [[nodiscard]] double log_step(std::size_t t, std::size_t from, std::size_t to) const;
  template <class Numbers>
  void step_forward(std::size_t t);
  template <class Numbers>
  void step_backward(std::size_t t);
  [[nodiscard]] double* row(AlignedVector<double>& rows, std::size_t t) { return rows.data() + t * stride_; }
  [[nodiscard]] const double* row(const AlignedVector<double>& rows, std::size_t t) const {
    return rows.data() + t * stride_;
  }
  // The logarithm of a number of any of the tables.
  [[nodiscard]] double log_of(double number) const;

  std::size_t length_ = 0;
  std::size_t labels_ = 0;
  std::size_t stride_ = 0;
  std::span<const double> scores_;
  ChainTransitions transitions_{};
  double scale_ = 0;
  bool logarithms_ = false;
  bool loses_ = false;  // plain numbers have lost something that may count

  // Rows of labels: of tokens; of transitions there is also the transpose. Plain numbers, or logarithms.
  AlignedVector<double> potentials_, alpha_, beta_;
  AlignedVector<double> steps_, steps_back_, local_steps_;
  std::vector<double> norms_;   // per token: of alpha times beta
  std::vector<double> shrunk_;  // per token but the last: what the sum that beta is was divided by
  AlignedVector<double> spare_;

  AlignedVector<double> known_transitions_;  // that steps_ is made of
  double known_scale_ = 0;
  bool known_logarithms_ = false;
};

}  // namespace marginloom
