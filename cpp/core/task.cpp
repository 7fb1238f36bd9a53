#include "core/task.hpp"

namespace marginloom {

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
