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

  // Task::find is this after the scores W x are known.
  virtual double search(std::size_t i, const double* scores, const FindOptions& options, Scratch& scratch,
                        CandidateSink& sink) const = 0;

  // What Task::gather makes of W x.
  virtual void gather_scored(std::size_t i, std::span<const ByteView> outputs, const double* scores,
                             std::span<double> values) const = 0;

  // What Task::scatter adds to the columns of W, times x: appends the sum of the steps times v(gold) - v(output). A
  // column may come twice.
  virtual void scatter_scored(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
                              std::vector<ColumnChange>& changes) const = 0;
};

}  // namespace marginloom
