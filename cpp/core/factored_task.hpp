// Tasks whose joint features are products: phi(x, y) is the vector x of the input's features times a vector v(y) of a
// few columns, so that the weights are a matrix W of features by columns, scores are v(y).(W x), and what a step on one
// example does to the scores of another is known from the product of their inputs. Engines can then make steps without
// touching the weights.
#pragma once

#include <span>
#include <vector>

#include "core/input_matrix.hpp"
#include "core/task.hpp"

namespace marginloom {

// A column of W moves by `value` times x.
struct ColumnChange {
  std::size_t column;
  double value;
};

class FactoredTask {
 public:
  virtual ~FactoredTask() = default;

  [[nodiscard]] virtual const InputMatrix& inputs() const = 0;
  [[nodiscard]] virtual std::size_t columns() const = 0;  // of W, which is all of the weights
  [[nodiscard]] virtual std::size_t stride() const = 0;   // and with the padding of its rows

  // Tells that example i is looked at soon by the functions below.
  virtual void prefetch_scored(std::size_t) const {}

  // As Task::find, given W x.
  virtual double find_scored(std::size_t i, const double* scores, const FindOptions& options, Scratch& scratch,
                             CandidateSink& sink) const = 0;

  // w.d for d = phi(gold) - phi(output), given W x.
  virtual void dot_scored(std::size_t i, std::span<const ByteView> outputs, const double* scores,
                          std::span<double> dots) const = 0;

  // Appends the sum of the steps times v(gold) - v(output), and moves W x by |x|^2 times that. A column may come twice.
  virtual void add_scored(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
                          double* scores, std::vector<ColumnChange>& changes) const = 0;
};

// A weight policy: steps on one example that know no weights but W x, and note how W has to move.
struct ScoredWeights {
  const FactoredTask* task;
  double* scores;
  std::vector<ColumnChange>* changes;

  [[nodiscard]] static constexpr double extra_curvature_bound(double) { return 0; }
};

[[nodiscard]] inline double dot_implicit(const Task&, std::size_t i, ByteView output, const ScoredWeights& w) {
  double dot = 0;
  w.task->dot_scored(i, std::span(&output, 1), w.scores, std::span(&dot, 1));
  return dot;
}
inline void add_implicit(const Task&, std::size_t i, ByteView output, double step, const ScoredWeights& w) {
  w.task->add_scored(i, std::span(&output, 1), std::span(&step, 1), w.scores, *w.changes);
}
inline void dot_all_implicit(const Task&, std::size_t i, std::span<const ByteView> outputs, const ScoredWeights& w,
                             std::span<double> dots) {
  w.task->dot_scored(i, outputs, w.scores, dots);
}
inline void add_all_implicit(const Task&, std::size_t i, std::span<const ByteView> outputs,
                             std::span<const double> steps, const ScoredWeights& w) {
  w.task->add_scored(i, outputs, steps, w.scores, *w.changes);
}

}  // namespace marginloom
