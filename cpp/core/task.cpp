#include "core/task.hpp"

#include <stdexcept>

namespace marginloom {
namespace {

[[noreturn]] void no_implicit_differences() {
  throw std::logic_error("this task stores the differences of its candidates");
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

double dot_implicit(const Task&, std::size_t, ByteView, const TriedWeights&) {
  throw std::logic_error("steps on implicit differences are not tried");
}
void add_implicit(const Task&, std::size_t, ByteView, double, const TriedWeights&) {
  throw std::logic_error("steps on implicit differences are not tried");
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
