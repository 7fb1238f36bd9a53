#include "learners/pass_learner.hpp"

#include "core/kernels.hpp"
#include "core/objective.hpp"

namespace marginloom {

Certificate PassLearner::certify(const Work& work, WeightView mean) {
  write_weights(work.w, work.threads);
  const auto examples = examples_of(task(), {work.rows.begin(), work.rows.end()});
  const auto cost_of = [&](std::size_t i) { return cost(i); };
  const WeightView w = mean.empty() ? WeightView(work.w) : mean;
  const Primal primal = primal_value(task(), w, examples, cost_of, loss(), work.threads, work.stop);
  const Capabilities can = task().capabilities();
  return {.primal = primal.value,
          .dual = dual(kernels().squared_norm(work.w.data(), work.w.size())),
          .proven = can.exact || can.bounded,
          .complete = primal.complete};
}

}  // namespace marginloom
