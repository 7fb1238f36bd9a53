// Probabilities of types and relations, by enumeration of all types of the spans of a sentence.
//
// Given the types every ordered pair chooses its label by itself, so that with inverse temperature s
//
//   Z = sum over types t of  prod_a exp(s score(a, t_a))  prod_{a != b} sum_{r allowed between t_a and t_b} exp(s
//   score(a, b, r))
//
// which has a term for every choice of types, and no more.
#pragma once

#include <cstddef>
#include <vector>

#include "tasks/relations/joint_solver.hpp"

namespace marginloom {

class TypeSums {
 public:
  // Scores must stay until the last question.
  void start(const TypeTable& table, const JointScores& scores);

  // Computes all sums; false if scores exceed double precision.
  [[nodiscard]] bool compute(double scale);

  [[nodiscard]] double type(std::size_t a, std::size_t type) const { return singles_[a * table_->types() + type]; }
  // The probability of a label of the ordered pair (a, b).
  [[nodiscard]] double label(std::size_t a, std::size_t b, std::size_t label) const;
  // Of all types and labels together; minus infinity where the table forbids them.
  [[nodiscard]] double log_output(const std::uint32_t* choices) const;

 private:
  [[nodiscard]] double log_labels(std::size_t a, std::size_t b, std::size_t head, std::size_t tail) const;
  [[nodiscard]] std::size_t place(std::size_t a, std::size_t b) const {
    return (a * scores_->spans + b) * table_->types() * table_->types();
  }
  void find_greatest(std::size_t depth, double total);
  double add(std::size_t depth, double total);
  [[nodiscard]] double step(std::size_t depth, double total, std::size_t type) const;

  const TypeTable* table_ = nullptr;
  const JointScores* scores_ = nullptr;
  double scale_ = 0;
  std::vector<double> terms_;    // per a < b: the logarithm of the sum over labels of both orders, by types
  std::vector<double> singles_;  // probabilities of types
  std::vector<double> doubles_;  // per a < b: of the types of both
  std::vector<std::size_t> types_;
  double greatest_ = 0;
  double log_sum_ = 0;
};

}  // namespace marginloom
