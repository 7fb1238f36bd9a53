#include "learners/dual_learner.hpp"

#include <stdexcept>
#include <utility>

namespace marginloom {

DualLearner::DualLearner(Objective&& objective) : objective_(std::move(objective)), ids_(task().size()) {
  if (objective_.costs.size() != task().size()) throw std::invalid_argument("one cost per example is needed");
}

void DualLearner::name_examples(std::vector<std::uint64_t> ids) {
  if (ids.size() != task().size()) throw std::invalid_argument("one id per example is needed");
  ids_ = ExampleIds(std::move(ids));
}

StateArrays DualLearner::merged(const StateArrays&, const StateArrays&) const {
  throw std::invalid_argument("states of this learner do not merge: its variables do not belong to single examples");
}

}  // namespace marginloom
