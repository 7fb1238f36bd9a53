// Base of tasks whose candidates keep no copy of their difference.
#pragma once

#include "core/task.hpp"

namespace marginloom {

// Derived writes one template,
//   template <class Visit> void visit_difference(std::size_t i, ByteView output, Visit visit) const;
// which calls visit(index, value) for the coordinates of phi(gold) - phi(output); values of an index that is
// visited more than once add up. The two operations for the weight policies follow from it. One virtual
// call serves a whole candidate. A task that can share work between the outputs of an example writes dot_outputs()
// and add_outputs() itself, with these signatures.
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
  void dot_all(std::size_t i, std::span<const ByteView> outputs, const PlainWeights& w,
               std::span<double> dots) const override {
    derived().dot_outputs(i, outputs, w, dots);
  }
  void dot_all(std::size_t i, std::span<const ByteView> outputs, const TrackedWeights& w,
               std::span<double> dots) const override {
    derived().dot_outputs(i, outputs, w, dots);
  }
  void dot_all(std::size_t i, std::span<const ByteView> outputs, const AtomicWeights& w,
               std::span<double> dots) const override {
    derived().dot_outputs(i, outputs, w, dots);
  }
  void dot_all(std::size_t i, std::span<const ByteView> outputs, const PrivateWeights& w,
               std::span<double> dots) const override {
    derived().dot_outputs(i, outputs, w, dots);
  }
  void add_all(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
               const PlainWeights& w) const override {
    derived().add_outputs(i, outputs, steps, w);
  }
  void add_all(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
               const TrackedWeights& w) const override {
    derived().add_outputs(i, outputs, steps, w);
  }
  void add_all(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
               const AtomicWeights& w) const override {
    derived().add_outputs(i, outputs, steps, w);
  }
  void add_all(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
               const PrivateWeights& w) const override {
    derived().add_outputs(i, outputs, steps, w);
  }

  template <class Weights>
  void dot_outputs(std::size_t i, std::span<const ByteView> outputs, const Weights& w, std::span<double> dots) const {
    for (std::size_t j = 0; j < outputs.size(); ++j) dots[j] = dot_with(i, outputs[j], w);
  }

  template <class Weights>
  void add_outputs(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
                   const Weights& w) const {
    for (std::size_t j = 0; j < outputs.size(); ++j) {
      if (steps[j] != 0) add_with(i, outputs[j], steps[j], w);
    }
  }

 private:
  [[nodiscard]] const Derived& derived() const { return static_cast<const Derived&>(*this); }

  template <class Weights>
  double dot_with(std::size_t i, ByteView output, const Weights& w) const {
    double sum = 0;
    derived().visit_difference(i, output, [&](WeightIndex k, double value) { sum += w.read(k) * value; });
    return sum;
  }

  template <class Weights>
  void add_with(std::size_t i, ByteView output, double step, const Weights& w) const {
    derived().visit_difference(i, output, [&](WeightIndex k, double value) { w.add(k, step * value); });
  }
};

}  // namespace marginloom
