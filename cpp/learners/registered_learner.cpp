#include "learners/registered_learner.hpp"

#include <algorithm>
#include <stdexcept>

namespace marginloom {
namespace {

// Registrations of other files come before main, in any order.
std::vector<RegisteredLearner>& all_learners() {
  static std::vector<RegisteredLearner> learners;
  return learners;
}

}  // namespace

const std::vector<RegisteredLearner>& registered_learners() {
  return all_learners();
}

const RegisteredLearner& registered_learner(const std::string& name) {
  const auto has_name = [&](const RegisteredLearner& learner) { return learner.name == name; };
  const auto count = std::ranges::count_if(all_learners(), has_name);
  if (count == 0) throw std::invalid_argument("no learner is registered as " + name);
  if (count > 1) throw std::invalid_argument("several learners are registered as " + name);
  return *std::ranges::find_if(all_learners(), has_name);
}

void register_learner(RegisteredLearner learner) {
  all_learners().push_back(std::move(learner));
}

}  // namespace marginloom
