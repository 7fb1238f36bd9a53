// Weights for Python code that a native computation calls: the memory itself where its owner is known.
#pragma once

#include <memory>

#include "bindings/bindings.hpp"
#include "core/types.hpp"

namespace marginloom::python {

// For the time that it lives, Python code may be given these weights without a copy. An array that is kept for longer
// keeps the owner, so it stays safe to read. Made, used and destroyed with the GIL held, which guards the list of them.
class WeightsForPython {
 public:
  WeightsForPython(WeightView weights, std::shared_ptr<const void> owner);
  ~WeightsForPython();
  WeightsForPython(const WeightsForPython&) = delete;
  WeightsForPython& operator=(const WeightsForPython&) = delete;

  // A read-only array of the weights: a view if their owner is known, a copy if not, as where an engine works on
  // private copies.
  [[nodiscard]] static nb::object array(WeightView weights);

 private:
  WeightView weights_;
  std::shared_ptr<const void> owner_;
};

}  // namespace marginloom::python
