#include "learners/dual_learner.hpp"

namespace marginloom {

DualLearner::DualLearner(Objective&& objective, std::size_t memory, bool products)
    : objective_(std::move(objective)), ids_(task().size()), blocks_(shared_task(), memory, products) {
  if (objective_.costs.size() != task().size()) throw std::invalid_argument("one cost per example is needed");
}

void DualLearner::name_examples(std::vector<std::uint64_t> ids) {
  if (ids.size() != task().size()) throw std::invalid_argument("one id per example is needed");
  ids_ = ExampleIds(std::move(ids));
}

PassEnd DualLearner::end_pass(std::span<double>, Visit&, StopRequest&) {
  blocks_.trim();
  return {};
}

void DualLearner::prefetch(std::span<const std::size_t> coming, WeightView w, bool inputs) const {
  constexpr std::size_t near = 4;
  if (coming.size() > near) prefetch_example(coming[near]);
  blocks_.prefetch(coming, w, inputs);
}

Step DualLearner::visit(std::size_t i, WeightView w, const WeightWriter& writer, Visit& visit, bool may_drop) {
  blocks_.open(i, visit);
  if (visit.block->empty()) {
    visit.duals.clear();
    settle(i, visit, {}, may_drop);
    return {};
  }
  gather(task(), i, w, visit);
  const Step step = solve(i, visit);
  if (step.updates > 0) scatter(task(), i, writer, visit);
  settle(i, visit, step, may_drop);
  return step;
}

}  // namespace marginloom
