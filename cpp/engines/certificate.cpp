#include "engines/certificate.hpp"

#include "core/objective.hpp"
#include "learners/step_average.hpp"

namespace marginloom {

Certificate certify(const Task& task, BlockLearner& learner, WeightView w, std::span<const std::size_t> examples,
                    int threads, StopRequest& stop, World* world) {
  const auto cost = [&](std::size_t i) { return learner.cost(i); };
  const Primal primal = primal_value(task, w, examples, cost, learner.loss(), threads, stop, world);
  Certificate result;
  result.complete = primal.complete;
  result.primal = primal.value;
  result.dual = learner.dual(primal.squared_norm);
  if (const StepAverage* average = learner.average()) result.dual = average->average(result.dual);
  result.proven = task.capabilities().exact || task.capabilities().bounded;
  return result;
}

}  // namespace marginloom
