// A solver whose search is a function in Python, such as an integer program: the one place where this task leaves C++.
#pragma once

#include <atomic>
#include <memory>

#include "bindings/bindings.hpp"
#include "tasks/relations/joint_solver.hpp"

namespace marginloom::python {

// search(type_scores, pair_scores) -> (types, labels, bound, complete)
//
// Scores are float64 arrays without padding, a row for every span and for every ordered pair, whose column 0 is none;
// types and labels are bytes. The score of what comes back is computed here, and the bound is not believed below it.
// The GIL is held for the call and may be released in it.
class PythonSolver final : public JointSolver {
 public:
  explicit PythonSolver(nb::object search) : search_(std::move(search)) {}

  [[nodiscard]] bool needs_gil() const override { return true; }
  [[nodiscard]] std::unique_ptr<Scratch> make_scratch() const override { return std::make_unique<Scratch>(); }
  JointOptimum solve(const TypeTable& table, const JointScores& scores, Scratch& scratch,
                     JointOutput& output) const override;

 private:
  nb::object search_;
};

}  // namespace marginloom::python
