// What the tests of engines of online learners share.
#pragma once

#include <memory>
#include <vector>

#include "engines/engine.hpp"
#include "learners/mira.hpp"
#include "learners/perceptron.hpp"
#include "problems.hpp"

namespace online_engines {

using Learner = std::shared_ptr<marginloom::OnlineLearner>;
using Task = std::shared_ptr<const marginloom::Task>;

inline problems::Problem training_problem(problems::Kind kind) {
  marginloom::Random random(60);
  return problems::make_problem({.sentences = 90, .longest = 7, .labels = 4, .features = 20, .kind = kind}, random);
}

inline Learner perceptron(const Task& task) {
  return std::make_shared<marginloom::Perceptron>(task, std::vector<double>(task->size(), 1.0),
                                                  marginloom::Perceptron::Parameters{.averaged = true});
}

inline Learner mira(const Task& task) {
  return std::make_shared<marginloom::Mira>(task, std::vector<double>(task->size(), 0.2),
                                            marginloom::Mira::Parameters{.k_best = 2, .averaged = false});
}

inline std::vector<double> final_weights(const marginloom::Engine& engine) {
  std::vector<double> result(engine.task().dimension());
  engine.final_weights(result);
  return result;
}

}  // namespace online_engines
