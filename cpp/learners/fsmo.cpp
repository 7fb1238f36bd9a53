#include "learners/fsmo.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace marginloom {

Fsmo::Fsmo(std::shared_ptr<const Task> task, std::vector<double> costs, Parameters parameters)
    : BlockLearner({std::move(task), std::move(costs), Loss::hinge, parameters.epsilon, parameters.memory}),
      parameters_(parameters),
      batch_(parameters.batch > 0 ? parameters.batch : std::max<std::size_t>(problem_.blocks().size() / 100, 1)) {}

void Fsmo::absorb(const Candidate& candidate) {
  BlockLearner::absorb(candidate);
  ++added_;
}

void Fsmo::end_pass(const PlainWeights& w, Lane& lane) {
  solve(w, lane);  // also if nothing was added: slacks must follow w, and the tolerance may have shrunk
  BlockLearner::end_pass(w, lane);
}

void Fsmo::note_gap(double primal, double dual) {
  if (!parameters_.as_published) BlockLearner::note_gap(primal, dual);
}

double Fsmo::solve(const PlainWeights& w, Lane& lane) {
  added_ = 0;
  std::size_t sweeps = 0;
  std::size_t small_changes = 0;
  const auto enough = [&](double gain) {
    if (!parameters_.inner_stop || ++sweeps <= parameters_.inner_iterations) return false;
    small_changes = gain < parameters_.inner_change ? small_changes + 1 : 0;
    return small_changes >= parameters_.inner_times;
  };
  return parameters_.as_published ? solve_as_published(w, lane, enough) : problem_.solve(w, lane, tolerance(), enough);
}

double Fsmo::solve_as_published(const PlainWeights& w, Lane& lane, const std::function<bool(double)>& enough) {
  constexpr int most_sweeps = 100'000;  // "until no dual changed", which rounding can put off for ever
  double gain = 0;
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    bool changed = false;
    double gain_of_sweep = 0;
    for (std::size_t i = 0; i < problem_.blocks().size(); ++i) {
      if (i % 64 == 0 && lane.stop && lane.stop->stopped()) return gain;
      if (problem_.blocks()[i].empty()) continue;
      const BlockProblem::Step step = published_step(i, w, lane);
      changed |= step.residual > 0;
      gain_of_sweep += step.gain;
    }
    gain += gain_of_sweep;
    if (!changed || enough(gain_of_sweep)) break;
  }
  return gain;
}

// Lines 4 to 9 of Algorithm 2 for the constraints of one example.
BlockProblem::Step Fsmo::published_step(std::size_t i, const PlainWeights& w, Lane& lane) {
  DualBlocks& blocks = problem_.blocks();
  const double bound = problem_.cost(i);
  double sum = blocks[i].dual_sum();
  double largest = 0;
  BlockProblem::Step result;
  for (auto& member : blocks[i].members()) {
    const auto entries = blocks.entries(i, member, lane.scratch);
    const double violation = member.loss - blocks.project(i, member, entries, w).dot;
    const bool may_rise = member.dual < bound && violation > tolerance();
    const bool may_fall = member.dual > 0 && violation < -tolerance();
    if ((may_rise || may_fall) && member.squared_norm > 0) {
      const double wanted = violation / member.squared_norm;
      const double step = std::clamp(wanted, -member.dual, std::max(bound - sum, 0.0));
      if (step != 0) {
        blocks.add(i, member, entries, step, w);
        member.dual += step;
        sum += step;
        result.gain += step * (violation - step * member.squared_norm / 2);
        result.residual = std::max(result.residual, std::abs(violation));
        ++lane.updates;
      }
    }
    largest = std::max(largest, violation);
    blocks.keep(i, member, entries);
  }
  problem_.refresh(i, largest);
  return result;
}

}  // namespace marginloom
