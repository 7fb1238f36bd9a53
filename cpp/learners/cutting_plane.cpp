#include "learners/cutting_plane.hpp"

#include <utility>

namespace marginloom {

CuttingPlane::CuttingPlane(std::shared_ptr<const Task> task, std::vector<double> costs, Parameters parameters)
    : BlockLearner({std::move(task), std::move(costs), parameters.loss, parameters.epsilon, parameters.memory}),
      parameters_(parameters) {}

void CuttingPlane::absorb(const Candidate& candidate) {
  BlockLearner::absorb(candidate);
  ++added_;
}

void CuttingPlane::end_pass(const PlainWeights& w, Lane& lane) {
  solve(w, lane);  // also if nothing was added: slacks must follow w, and the tolerance may have shrunk
  BlockLearner::end_pass(w, lane);
}

double CuttingPlane::solve(const PlainWeights& w, Lane& lane) {
  added_ = 0;
  return problem_.solve(lane.examples, w, lane, problem_.threshold() / 2, [](double) { return false; });
}

}  // namespace marginloom
