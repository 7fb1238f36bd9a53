#include "engines/registered_engine.hpp"

#include <algorithm>
#include <stdexcept>

namespace marginloom {
namespace {

// Registrations of other files come before main, in any order.
template <class Learner>
std::vector<RegisteredEngine<Learner>>& all_engines() {
  static std::vector<RegisteredEngine<Learner>> engines;
  return engines;
}

}  // namespace

template <class Learner>
const std::vector<RegisteredEngine<Learner>>& registered_engines() {
  return all_engines<Learner>();
}

template <class Learner>
const RegisteredEngine<Learner>& registered_engine(const std::string& name) {
  const auto has_name = [&](const RegisteredEngine<Learner>& engine) { return engine.name == name; };
  const auto count = std::ranges::count_if(all_engines<Learner>(), has_name);
  if (count == 0) throw std::invalid_argument("no engine for learners of this kind is registered as " + name);
  if (count > 1) throw std::invalid_argument("several engines are registered as " + name);
  return *std::ranges::find_if(all_engines<Learner>(), has_name);
}

template <class Learner>
void register_engine(RegisteredEngine<Learner> engine) {
  all_engines<Learner>().push_back(std::move(engine));
}

#define MARGINLOOM_ENGINES_OF(Kind)                                                   \
  template const std::vector<RegisteredEngine<Kind>>& registered_engines<Kind>();     \
  template const RegisteredEngine<Kind>& registered_engine<Kind>(const std::string&); \
  template void register_engine<Kind>(RegisteredEngine<Kind>)

MARGINLOOM_ENGINES_OF(OnlineLearner);
MARGINLOOM_ENGINES_OF(BlockLearner);
MARGINLOOM_ENGINES_OF(PassLearner);

}  // namespace marginloom
