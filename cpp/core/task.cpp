#include "core/task.hpp"

#include <stdexcept>

namespace marginloom {
namespace {

[[noreturn]] void no_implicit_differences() {
  throw std::logic_error("this task stores the differences of its candidates");
}

template <class Weights>
void dot_each(const Task& task, std::size_t i, std::span<const ByteView> outputs, const Weights& w,
              std::span<double> dots) {
  for (std::size_t j = 0; j < outputs.size(); ++j) dots[j] = task.dot(i, outputs[j], w);
}

template <class Weights>
void add_each(const Task& task, std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
              const Weights& w) {
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    if (steps[j] != 0) task.add(i, outputs[j], steps[j], w);
  }
}

}  // namespace

double Task::dot(std::size_t, ByteView, const PlainWeights&) const {
  no_implicit_differences();
}
double Task::dot(std::size_t, ByteView, const TrackedWeights&) const {
  no_implicit_differences();
}
double Task::dot(std::size_t, ByteView, const AtomicWeights&) const {
  no_implicit_differences();
}
double Task::dot(std::size_t, ByteView, const PrivateWeights&) const {
  no_implicit_differences();
}
void Task::add(std::size_t, ByteView, double, const PlainWeights&) const {
  no_implicit_differences();
}
void Task::add(std::size_t, ByteView, double, const TrackedWeights&) const {
  no_implicit_differences();
}
void Task::add(std::size_t, ByteView, double, const AtomicWeights&) const {
  no_implicit_differences();
}
void Task::add(std::size_t, ByteView, double, const PrivateWeights&) const {
  no_implicit_differences();
}

void Task::dot_all(std::size_t i, std::span<const ByteView> outputs, const PlainWeights& w,
                   std::span<double> dots) const {
  dot_each(*this, i, outputs, w, dots);
}
void Task::dot_all(std::size_t i, std::span<const ByteView> outputs, const TrackedWeights& w,
                   std::span<double> dots) const {
  dot_each(*this, i, outputs, w, dots);
}
void Task::dot_all(std::size_t i, std::span<const ByteView> outputs, const AtomicWeights& w,
                   std::span<double> dots) const {
  dot_each(*this, i, outputs, w, dots);
}
void Task::dot_all(std::size_t i, std::span<const ByteView> outputs, const PrivateWeights& w,
                   std::span<double> dots) const {
  dot_each(*this, i, outputs, w, dots);
}
void Task::add_all(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
                   const PlainWeights& w) const {
  add_each(*this, i, outputs, steps, w);
}
void Task::add_all(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
                   const TrackedWeights& w) const {
  add_each(*this, i, outputs, steps, w);
}
void Task::add_all(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
                   const AtomicWeights& w) const {
  add_each(*this, i, outputs, steps, w);
}
void Task::add_all(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
                   const PrivateWeights& w) const {
  add_each(*this, i, outputs, steps, w);
}

void Task::predict_batch(std::span<const std::size_t> examples, WeightView w, int k, Scratch& scratch,
                         std::span<std::vector<Output>> outputs) const {
  for (std::size_t j = 0; j < examples.size(); ++j) predict(examples[j], w, k, scratch, outputs[j]);
}

void Task::find_batch(std::span<const std::size_t> examples, WeightView w, std::span<const FindOptions> options,
                      Scratch& scratch, CandidateSink& sink, std::span<double> bounds) const {
  for (std::size_t j = 0; j < examples.size(); ++j) {
    bounds[j] = find(examples[j], w, options[j], scratch, sink);
  }
}

}  // namespace marginloom
