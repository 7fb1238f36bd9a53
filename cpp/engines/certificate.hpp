// The certificate of a learner of blocks, by a search of every example.
#pragma once

#include <span>

#include "core/certificate.hpp"
#include "core/parallel.hpp"
#include "core/task.hpp"
#include "core/world.hpp"
#include "learners/block_learner.hpp"

namespace marginloom {

// Searches every example for its most violated output under w, which must be the weights that the learner's
// duals stand for, averaged if it averages. In a world its parts do that. The result does not depend on the
// number of threads or parts.
[[nodiscard]] Certificate certify(const Task& task, BlockLearner& learner, WeightView w,
                                  std::span<const std::size_t> examples, int threads, StopRequest& stop,
                                  World* world = nullptr);

}  // namespace marginloom
