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

std::vector<std::size_t> examples_of(const Task& task, std::vector<std::size_t> rows) {
  const std::size_t count = task.examples_per_row();
  if (count == 1) return rows;
  std::vector<std::size_t> examples;
  examples.reserve(rows.size() * count);
  for (const std::size_t r : rows) {
    for (std::size_t k = 0; k < count; ++k) examples.push_back(r * count + k);
  }
  return examples;
}

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

template const std::vector<RegisteredEngine<OnlineLearner>>& registered_engines<OnlineLearner>();
template const std::vector<RegisteredEngine<BlockLearner>>& registered_engines<BlockLearner>();
template const RegisteredEngine<OnlineLearner>& registered_engine<OnlineLearner>(const std::string&);
template const RegisteredEngine<BlockLearner>& registered_engine<BlockLearner>(const std::string&);
template void register_engine<OnlineLearner>(RegisteredEngine<OnlineLearner>);
template void register_engine<BlockLearner>(RegisteredEngine<BlockLearner>);

}  // namespace marginloom
