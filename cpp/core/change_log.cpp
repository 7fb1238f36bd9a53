#include "core/change_log.hpp"

#include "core/task.hpp"

namespace marginloom {

void ChangeLog::apply(const Task& task, std::span<double> w) const {
  const PlainWeights plain{w.data()};
  std::span<const Entry> entries = entries_;
  for (const Step& step : steps_) {
    add_scaled(entries.first(step.entries), step.size, plain);
    entries = entries.subspan(step.entries);
  }
  ByteView outputs = outputs_;
  for (const ImplicitStep& step : implicit_steps_) {
    task.add(step.example, outputs.first(step.bytes), step.size, plain);
    outputs = outputs.subspan(step.bytes);
  }
}

}  // namespace marginloom
