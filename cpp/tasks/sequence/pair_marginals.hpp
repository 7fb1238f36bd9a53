// Probabilities of paths through a chain in which two labels before a token count, and of their labels, by forward and
// backward sums over pairs of labels.
//
//   alpha_t(p, c) = e_t(c) E_t(p, c) sum_q alpha_{t-1}(q, p) T_t(q, p, c)
//   beta_{t-1}(q, p) = sum_c e_t(c) E_t(p, c) T_t(q, p, c) beta_t(p, c)
//   p(y_{t-1} = p, y_t = c) = alpha_t(p, c) beta_t(p, c) / sum over all pairs
//
// with e, E and T as in ChainMarginals: exp(scale score) of labels, transitions and what two labels before a token add.
// Where nothing is added T is 1, so that most labels q share one sum. As there, logarithms are used where plain numbers
// could lose what counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/aligned_vector.hpp"
#include "tasks/sequence/history_chain.hpp"
#include "tasks/sequence/history_scores.hpp"
#include "tasks/sequence/path_marginals.hpp"

namespace marginloom {

class PairMarginals final : public PathMarginals {
 public:
  // What the chain points to must stay until the last question.
  void start(const HistoryChain& chain) { chain_ = chain; }

  [[nodiscard]] bool compute(double scale) override;
  void write_token(std::size_t t, double* result) const override;
  [[nodiscard]] double log_marginal(std::size_t t, std::size_t label) const override;
  [[nodiscard]] double log_probability(std::size_t first, std::span<const Labels> labels) const override;

 private:
  template <class Numbers>
  [[nodiscard]] bool sum_paths();
  template <class Numbers>
  void find_steps();
  template <class Numbers>
  void find_rows();
  template <class Numbers>
  void multiply_row(std::size_t before_that, std::size_t before);
  template <class Numbers>
  void enter(std::size_t t);
  void leave();
  template <class Numbers>
  double shrink(double* table);
  template <class Numbers>
  void first_pairs();
  template <class Numbers>
  void step_forward(std::size_t t);
  template <class Numbers>
  void sum_before(std::size_t p, const double* prefixes);
  template <class Numbers>
  void step_backward(std::size_t t);
  template <class Numbers>
  void sum_after(std::size_t p, double* result);
  template <class Numbers>
  [[nodiscard]] bool share_out(std::size_t t);
  [[nodiscard]] double log_pair(std::size_t t, std::size_t before, std::size_t label) const;
  [[nodiscard]] double log_next(std::size_t t, std::size_t before_that, std::size_t before, std::size_t label) const;
  // A row per label of token t, which is not the first one: by the label before it.
  [[nodiscard]] double* pairs(AlignedVector<double>& tables, std::size_t t) const {
    return tables.data() + (t - 1) * chain_.labels * chain_.stride;
  }
  [[nodiscard]] double pair(const AlignedVector<double>& tables, std::size_t t, std::size_t before,
                            std::size_t label) const {
    return tables[((t - 1) * chain_.labels + label) * chain_.stride + before];
  }
  [[nodiscard]] double log_of(double number) const;
  // Whether what is added at this token is in rows_.
  [[nodiscard]] bool uses_rows() const { return has_rows_ && before_.added().size() == before_.triples(); }
  [[nodiscard]] std::span<const std::uint32_t> rows_after(std::size_t before) const {
    return std::span(row_before_that_).subspan(first_row_[before], first_row_[before + 1] - first_row_[before]);
  }

  HistoryChain chain_{};
  HistoryScores before_;
  double scale_ = 0;
  bool logarithms_ = false;
  bool loses_ = false;  // plain numbers have lost something that may count

  // Plain numbers, or logarithms.
  AlignedVector<double> potentials_;  // a row per token
  AlignedVector<double> steps_,
      steps_here_;               // a row per label: to the labels that follow, at any token and at this one
  std::vector<double> factors_;  // of what two labels before this token add
  AlignedVector<double> alpha_, beta_;
  AlignedVector<double> labels_;  // a row per token: what all paths through a label share
  std::vector<double> norms_;     // of the rows of labels_
  std::vector<double> shrunk_;    // per token but the first and the last: what the sum that beta is was divided by
  AlignedVector<double> sums_, row_;
  std::vector<double> few_;

  // What is made of the transitions and of the combinations of every token, as long as these stay the same.
  struct Known {
    const LabelHistories* histories = nullptr;
    double scale = 0;
    bool logarithms = false;
    bool operator==(const Known&) const = default;
  };
  Known known_;
  std::vector<double> known_transitions_, known_triples_;
  double greatest_step_ = 0;  // score that steps_ are relative to
  // Plain factors that two labels before a token have for its labels: rows by the label before, and those with the same
  // one by the label before that. Pairs to which nothing is added have none.
  bool has_rows_ = false;
  AlignedVector<double> rows_;
  std::vector<std::uint32_t> row_before_that_;
  std::vector<std::size_t> first_row_;  // by the label before, and one more
};

}  // namespace marginloom
