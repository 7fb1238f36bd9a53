// What registers itself is there, also where the core is a library that the linker picks from.
#include <algorithm>
#include <set>
#include <string>

#include "engines/registered_engine.hpp"
#include "learners/registered_learner.hpp"
#include "problems.hpp"
#include "test.hpp"

using namespace marginloom;

namespace {

template <class Parts>
std::set<std::string> names(const Parts& parts) {
  std::set<std::string> result;
  for (const auto& part : parts) result.insert(part.name);
  CHECK(result.size() == parts.size());
  return result;
}

}  // namespace

TEST("registered: all learners and engines are there, once each") {
  CHECK(names(registered_learners()) ==
        std::set<std::string>({"binary-dcd", "cutting-plane", "dcd", "frank-wolfe", "fsmo", "mira", "newton",
                               "one-slack", "passive-aggressive", "perceptron", "sgd"}));
  CHECK(names(registered_engines<OnlineLearner>()) ==
        std::set<std::string>({"minibatch", "mixing", "serial", "subsample"}));
  CHECK(names(registered_engines<BlockLearner>()) ==
        std::set<std::string>({"cascade", "decoupled", "master-worker", "pipelined", "serial", "shared"}));
  CHECK(names(registered_engines<PassLearner>()) == std::set<std::string>({"serial"}));
}

TEST("registered: a learner and an engine are made by their names and train") {
  Random random(3);
  const auto problem = problems::make_problem({.sentences = 10, .longest = 4, .features = 8}, random);
  const std::shared_ptr<const Task> task = problem.task();
  const auto made = registered_learner("cutting-plane")
                        .make(task, std::vector<double>(task->size(), 0.3),
                              {{"loss", std::string("hinge")}, {"epsilon", 0.1}, {"batch", 0}, {"memory", 1 << 30}});
  const auto learner = std::get<std::shared_ptr<BlockLearner>>(made);
  CHECK(learner->loss() == Loss::hinge);
  const auto engine = registered_engine<BlockLearner>("serial").make({task, learner, problem.examples(), {}, 1}, {});
  StopRequest never;
  CHECK(engine->run_pass(never).inferences == 10);
}

TEST("registered: a name that nobody has is refused") {
  CHECK_THROWS(std::invalid_argument, (void)registered_learner("ghost"), "no learner is registered as ghost");
  CHECK_THROWS(std::invalid_argument, (void)registered_engine<BlockLearner>("mixing"),
               "no engine for learners of this kind is registered as mixing");
}
