#include "learners/cutting_plane.hpp"

#include <utility>

#include "learners/registered_learner.hpp"

namespace marginloom {

CuttingPlane::CuttingPlane(std::shared_ptr<const Task> task, ExampleNumbers costs, Parameters parameters)
    : BlockProblem({std::move(task), std::move(costs), parameters.loss}, parameters.epsilon, parameters.memory,
                   {.of_rows = parameters.loss == Loss::hinge}),
      parameters_(parameters) {}

void CuttingPlane::absorb(const Candidate& candidate, Visit& visit) {
  BlockProblem::absorb(candidate, visit);
  ++added_;
}

// At the end of a pass also if nothing was added: slacks must follow w, and the tolerance may have shrunk.
std::optional<Together> CuttingPlane::due(std::optional<std::size_t> i, std::span<const std::size_t> examples, int,
                                          Visit&) {
  if (i && (parameters_.batch == 0 || added_ < parameters_.batch)) return std::nullopt;
  added_ = 0;
  return Together{.examples = examples, .tolerance = tolerance()};
}

namespace {

const LearnerRegistration<CuttingPlane> registered_cutting_plane(
    "cutting-plane", RowNumbers::costs,
    {parameter("loss", &CuttingPlane::Parameters::loss, loss_words),
     parameter("epsilon", &CuttingPlane::Parameters::epsilon), parameter("batch", &CuttingPlane::Parameters::batch),
     parameter("memory", &CuttingPlane::Parameters::memory)});

}  // namespace

}  // namespace marginloom
