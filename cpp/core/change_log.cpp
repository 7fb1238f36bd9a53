#include "core/change_log.hpp"

#include "core/task.hpp"

namespace marginloom {

void ChangeLog::apply(const Task& task, std::span<double> w) const {
  for (const Change& change : changes_) w[change.index] += change.change;
  const PlainWeights plain{w.data()};
  ByteView outputs = outputs_;
  for (const ImplicitStep& step : steps_) {
    task.add(step.example, outputs.first(step.bytes), step.step, plain);
    outputs = outputs.subspan(step.bytes);
  }
}

}  // namespace marginloom
