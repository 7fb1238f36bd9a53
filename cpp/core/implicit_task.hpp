// Base of tasks whose candidates keep no copy of their difference.
#pragma once

#include "core/task.hpp"

namespace marginloom {

// Derived writes one template,
//   template <class Visit> void visit_difference(std::size_t i, ByteView output, Visit visit) const;
// which calls visit(index, value) for the coordinates of phi(gold) - phi(output); values of an index that is
// visited more than once add up. The two operations for the weight policies follow from it. One virtual
// call serves a whole candidate.
template <class Derived>
class ImplicitTask : public Task {
 public:
  double dot(std::size_t i, ByteView output, const PlainWeights& w) const override { return dot_with(i, output, w); }
  double dot(std::size_t i, ByteView output, const TrackedWeights& w) const override { return dot_with(i, output, w); }
  double dot(std::size_t i, ByteView output, const AtomicWeights& w) const override { return dot_with(i, output, w); }
  double dot(std::size_t i, ByteView output, const PrivateWeights& w) const override { return dot_with(i, output, w); }
  void add(std::size_t i, ByteView output, double step, const PlainWeights& w) const override {
    add_with(i, output, step, w);
  }
  void add(std::size_t i, ByteView output, double step, const TrackedWeights& w) const override {
    add_with(i, output, step, w);
  }
  void add(std::size_t i, ByteView output, double step, const AtomicWeights& w) const override {
    add_with(i, output, step, w);
  }
  void add(std::size_t i, ByteView output, double step, const PrivateWeights& w) const override {
    add_with(i, output, step, w);
  }

 private:
  template <class Weights>
  double dot_with(std::size_t i, ByteView output, const Weights& w) const {
    double sum = 0;
    static_cast<const Derived*>(this)->visit_difference(i, output,
                                                        [&](WeightIndex k, double value) { sum += w.read(k) * value; });
    return sum;
  }

  template <class Weights>
  void add_with(std::size_t i, ByteView output, double step, const Weights& w) const {
    static_cast<const Derived*>(this)->visit_difference(i, output,
                                                        [&](WeightIndex k, double value) { w.add(k, step * value); });
  }
};

}  // namespace marginloom
