// The best types of the spans of a sentence together with the best relations between them, given scores.
//
//   max  sum_a type_score(a, t_a) + sum_{a != b} pair_score(a, b, r_ab)    with r_ab allowed between t_a and t_b
//
// Given the types every ordered pair takes its best allowed label by itself, so that this is a problem over types with
// unary and pairwise terms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "core/task.hpp"
#include "tasks/relations/type_table.hpp"

namespace marginloom {

struct JointScores {
  std::size_t spans = 0;
  std::size_t type_stride = 0;
  std::size_t pair_stride = 0;
  std::vector<double> types;  // a row for every span
  std::vector<double> pairs;  // and for every ordered pair, as pair_row numbers them; column 0 is none

  [[nodiscard]] double type(std::size_t a, std::size_t type) const { return types[a * type_stride + type]; }
  [[nodiscard]] const double* pair(std::size_t a, std::size_t b) const {
    return pairs.data() + pair_row(spans, a, b) * pair_stride;
  }

  [[nodiscard]] static std::size_t pair_row(std::size_t spans, std::size_t head, std::size_t tail) {
    return head * (spans - 1) + tail - (tail > head ? 1 : 0);
  }
};

// A type for every span, and a label for every ordered pair.
struct JointOutput {
  std::vector<std::uint8_t> types;
  std::vector<std::uint8_t> labels;

  friend bool operator==(const JointOutput&, const JointOutput&) = default;
};

struct JointOptimum {
  double score = 0;  // of the output, summed from its types and labels
  double bound = 0;  // no output scores more; equal to `score` unless the search was cut off
  bool complete = true;
  std::size_t nodes = 0;
};

[[nodiscard]] double score_of(const JointScores& scores, const JointOutput& output);

// Gives every pair its best label, given the types: none where nothing scores more, else the first of the best.
void take_best_labels(const TypeTable& table, const JointScores& scores, JointOutput& output);

// Immutable; what changes in a search is in the scratch, one per thread.
class JointSolver {
 public:
  virtual ~JointSolver() = default;
  [[nodiscard]] virtual bool needs_gil() const { return false; }
  [[nodiscard]] virtual std::unique_ptr<Scratch> make_scratch() const = 0;
  virtual JointOptimum solve(const TypeTable& table, const JointScores& scores, Scratch& scratch,
                             JointOutput& output) const = 0;
};

}  // namespace marginloom
