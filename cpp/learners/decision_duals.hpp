// The dual variables of decisions: outputs that are made of yes-or-no decisions, one per column of the weights
// (DecisionForm), make one binary SVM per column. With x_r a row of the inputs, y_rc = 1 if yes is right and -1 if no
// is, and what it costs to get it wrong:
//
//   primal  sum_c [1/2 |w_c|^2 + sum_r C_r l(max(0, cost_rc - y_rc w_c.x_r))],   l(xi) = xi or xi^2
//   dual    sum_c [sum_r (cost_rc |b_rc| - ridge_r / 2 b_rc^2) - 1/2 |w_c|^2],   w_c = sum_r b_rc x_r
//           with 0 <= y_rc b_rc <= C_r and no ridge for the hinge, 0 <= y_rc b_rc and ridge_r = 1 / (2 C_r) for the
//           other
//
// These are the structured SVM's own dual variables, in fewer numbers. An output that has some decisions wrong moves
// the columns of just these, so b of a decision is the sum over the outputs that have it wrong; and sorted by size, the
// decisions of an example make a chain of outputs: the one in which the first k are wrong has the k-th size less the
// next. That chain has the same weights, the same sum of losses and a sum of duals within C_r. So learners that keep
// candidates understand such states (decision_chains.hpp), and theirs are understood here. For the squared hinge that
// holds where every decision is an example.
//
// A number is kept for every decision, and a bit that says what is right. A state has a bit for every decision and the
// numbers that are not 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/aligned_vector.hpp"
#include "core/example_numbers.hpp"
#include "core/kernels.hpp"
#include "core/loss.hpp"
#include "core/scored_task.hpp"
#include "core/state.hpp"

namespace marginloom {

class DecisionDuals {
 public:
  static constexpr std::size_t group_size = row_alignment;  // columns whose duals lie together

  // Bytes that this takes for decisions of such a form, and a state of it at most.
  [[nodiscard]] static std::size_t bytes_for(const DecisionForm& form);

  // `costs` are the C_i of the examples. Throws std::invalid_argument if the outputs of the task are not made of
  // independent decisions, or share slacks in a way that couples them. The task must outlive it.
  DecisionDuals(const ScoredTask& task, const ExampleNumbers& costs, Loss loss);

  [[nodiscard]] const DecisionForm& form() const { return form_; }
  [[nodiscard]] std::size_t rows() const { return form_.weights.inputs.size(); }
  [[nodiscard]] std::size_t groups() const { return (form_.weights.columns + group_size - 1) / group_size; }

  // Of the columns of a group in a row, the padding of the last group among them.
  [[nodiscard]] double* of(std::size_t group, std::size_t row) { return &duals_[(group * rows() + row) * group_size]; }
  [[nodiscard]] const double* of(std::size_t group, std::size_t row) const {
    return &duals_[(group * rows() + row) * group_size];
  }
  // Their gold decisions as bits.
  [[nodiscard]] std::uint8_t gold(std::size_t group, std::size_t row) const { return gold_[group * rows() + row]; }
  [[nodiscard]] double cost(std::size_t row) const { return costs_[row]; }
  [[nodiscard]] DecisionCosts costs(std::size_t group) const {
    return {&form_.missing[group * group_size], &form_.spurious[group * group_size]};
  }

  [[nodiscard]] std::span<const DecisionTerms> terms() const { return terms_; }
  // What bounds the duals of each row if C_r is only this share of what it is.
  [[nodiscard]] std::vector<DecisionTerms> terms(double share) const;
  // Asks for the memory that a step on a row needs.
  void prefetch(std::size_t group, std::size_t row) const;

  // sum_rc (cost_rc |b_rc| - ridge_r / 2 b_rc^2) over the columns of a group, and how many are not 0.
  struct Sums {
    double value = 0;
    std::size_t active = 0;
  };
  [[nodiscard]] Sums sums(std::size_t group) const;
  [[nodiscard]] bool empty(std::size_t group) const;

  [[nodiscard]] StateArrays export_state() const;
  void import_state(const StateArrays& state);

 private:
  void take_decisions(const StateArrays& state);
  void take_chains(const StateArrays& state);
  void clip();

  const ScoredTask& task_;
  Loss loss_;
  DecisionForm form_;
  std::vector<double> costs_;         // by row
  std::vector<DecisionTerms> terms_;  // by row, with all of its C
  AlignedVector<double> duals_;
  std::vector<std::uint8_t> gold_;
};

}  // namespace marginloom
