// Proof of how far from the optimum a dual learner is.
#pragma once

#include <span>

#include "core/parallel.hpp"
#include "core/task.hpp"
#include "learners/dual_learner.hpp"

namespace marginloom {

struct Certificate {
  double primal = 0;
  double dual = 0;
  bool exact = false;     // inference was exact, or came with an upper bound
  bool complete = false;  // false: stopped before every example was searched, so primal is no bound
};

// Searches every example for its most violated output under w, which must be the weights that the learner's
// duals stand for, averaged if it averages. The result does not depend on the number of threads.
[[nodiscard]] Certificate certify(const Task& task, DualLearner& learner, WeightView w,
                                  std::span<const std::size_t> examples, int threads, StopRequest& stop);

}  // namespace marginloom
