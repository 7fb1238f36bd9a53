#include "learners/block_learner.hpp"

#include <utility>

namespace marginloom {

BlockLearner::BlockLearner(Objective&& objective, std::size_t memory, bool products)
    : DualLearner(std::move(objective)), blocks_(shared_task(), memory, products) {}

PassEnd BlockLearner::end_pass(std::span<double>, Visit&, StopRequest&) {
  blocks_.trim();
  return {};
}

void BlockLearner::prefetch(std::span<const std::size_t> coming, WeightView w, bool inputs) const {
  constexpr std::size_t near = 4;
  if (coming.size() > near) prefetch_example(coming[near]);
  blocks_.prefetch(coming, w, inputs);
}

Step BlockLearner::visit(std::size_t i, WeightView w, const WeightWriter& writer, Visit& visit, bool may_drop) {
  blocks_.open(i, visit);
  if (visit.open.block->empty()) {
    settle(i, {}, {}, may_drop);
    return {};
  }
  gather(task(), i, w, visit);
  const Step step = solve(i, visit);
  if (step.updates > 0) scatter(task(), i, writer, visit);
  settle(i, visit.open.duals, step, may_drop);
  return step;
}

}  // namespace marginloom
