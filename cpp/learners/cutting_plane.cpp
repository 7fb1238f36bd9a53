#include "learners/cutting_plane.hpp"

#include <utility>

#include "learners/registered_learner.hpp"

namespace marginloom {

CuttingPlane::CuttingPlane(std::shared_ptr<const Task> task, ExampleNumbers costs, Parameters parameters)
    : BlockProblem({std::move(task), std::move(costs), parameters.loss}, parameters.epsilon, parameters.memory,
                   {.of_rows = parameters.loss == Loss::hinge}),
      parameters_(parameters) {}

// At the end of a pass also if nothing was added: slacks must follow w, and the tolerance may have shrunk.
std::optional<Together> CuttingPlane::due(const Searched& searched) {
  const bool enough = parameters_.batch > 0 && searched.candidates >= parameters_.batch;
  if (!enough && !searched.at_end) return std::nullopt;
  return Together{.examples = searched.examples, .tolerance = tolerance()};
}

namespace {

const LearnerRegistration<CuttingPlane> registered_cutting_plane(
    "cutting-plane", RowNumbers::costs,
    {parameter("loss", &CuttingPlane::Parameters::loss, loss_words),
     parameter("epsilon", &CuttingPlane::Parameters::epsilon), parameter("batch", &CuttingPlane::Parameters::batch),
     parameter("memory", &CuttingPlane::Parameters::memory)});

}  // namespace

}  // namespace marginloom
