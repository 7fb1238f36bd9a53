// The exact search for types and relations, without integer programs.
//
// The best labels of the two pairs of spans a and b, given their types, make one pairwise term that is at least that of
// none. Terms that do not depend on types, or are a sum of what each type contributes, go into the types' own scores;
// the others are the edges of a graph, which falls into connected components. A component of two spans is looked
// through. In a larger one max-sum diffusion moves score between edges and spans, until the sum of their maxima is a
// tight upper bound; conditional modes of these give a first output; and a depth-first branch and bound closes what is
// left between the two. Bounds that exceed the best output by no more than rounding count as closed.
//
// Ties: of outputs with the same score that which is met first is taken, in an order that depends on nothing but the
// scores and the table; a pair is none unless a relation scores more.
#pragma once

#include "tasks/relations/joint_solver.hpp"

namespace marginloom {

class BranchAndBound final : public JointSolver {
 public:
  // Visits so many nodes in a search of one sentence at most; 0: as many as it takes.
  explicit BranchAndBound(std::size_t node_limit) : node_limit_(node_limit) {}

  [[nodiscard]] std::unique_ptr<Scratch> make_scratch() const override;
  JointOptimum solve(const TypeTable& table, const JointScores& scores, Scratch& scratch,
                     JointOutput& output) const override;

 private:
  std::size_t node_limit_;
};

}  // namespace marginloom
