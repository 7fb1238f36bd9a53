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
  std::vector<ByteView> outputs;
  ByteView bytes = outputs_;
  std::size_t place = 0;
  for (const ImplicitStep& step : implicit_steps_) {
    outputs.clear();
    for (std::size_t j = 0; j < step.outputs; ++j) {
      outputs.push_back(bytes.first(lengths_[place + j]));
      bytes = bytes.subspan(lengths_[place + j]);
    }
    task.add_all(step.example, outputs, std::span(sizes_).subspan(place, step.outputs), plain);
    place += step.outputs;
  }
}

}  // namespace marginloom
