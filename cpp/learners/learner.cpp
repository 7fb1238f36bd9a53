#include "learners/learner.hpp"

namespace marginloom {

Step DualLearner::visit(std::size_t i, WeightView w, const WeightWriter& writer, Visit& visit, bool may_drop) {
  blocks().open(i, visit);
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
