#include "learners/fsmo.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace marginloom {

Fsmo::Fsmo(std::shared_ptr<const Task> task, std::vector<double> costs, Parameters parameters)
    : BlockLearner({std::move(task), std::move(costs), Loss::hinge, parameters.epsilon, parameters.memory}),
      parameters_(parameters),
      every_(parameters.k_best == 0 && this->task().capabilities().lists_outputs),
      batch_(parameters.batch > 0 ? parameters.batch : std::max<std::size_t>(problem_.blocks().size() / 100, 1)),
      fresh_(problem_.blocks().size(), 0),
      gap_(parameters.as_published ? 0 : unknown) {}

void Fsmo::absorb(const Candidate& candidate) {
  BlockLearner::absorb(candidate);
  fresh_[candidate.example] = 1;
}

void Fsmo::note_gap(double primal, double dual) {
  if (parameters_.as_published) return;
  BlockLearner::note_gap(primal, dual);
  gap_ = std::max(primal - dual, 0.0);
}

StateArrays Fsmo::export_state() const {
  StateArrays state = BlockLearner::export_state();
  state["fsmo_gap"] = std::vector<double>{gap_};
  return state;
}

void Fsmo::import_state(const StateArrays& state) {
  const auto& gap = state_array<double>(state, "fsmo_gap");
  if (gap.size() != 1 || !(gap[0] >= 0)) throw std::invalid_argument("'fsmo_gap' of the state is broken");
  BlockLearner::import_state(state);
  gap_ = gap[0];
  begin_pass();
}

template <class Weights>
double Fsmo::solve(std::span<const std::size_t> examples, const Weights& w, Lane& lane) {
  if (examples.empty()) return 0;
  Patience patience(parameters_, least_gain(examples.size()), lane.share == 1);
  const double gain =
      parameters_.as_published
          ? solve_as_published(examples, w, lane, patience)
          : problem_.solve(examples, w, lane, tolerance(), [&](double gained) { return patience.exhausted(gained); });
  lane.waiting.clear();  // only now: it may be what was solved over
  return gain;
}

template <class Weights>
double Fsmo::solve_as_published(std::span<const std::size_t> examples, const Weights& w, Lane& lane,
                                Patience patience) {
  constexpr int most_sweeps = 100'000;  // "until no dual changed", which rounding can put off for ever
  double gain = 0;
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    bool changed = false;
    double gain_of_sweep = 0;
    for (std::size_t j = 0; j < examples.size(); ++j) {
      if (j % 64 == 0 && lane.stop && lane.stop->stopped()) return gain;
      if (problem_.blocks()[examples[j]].empty()) continue;
      const BlockProblem::Step step = published_step(examples[j], w, lane);
      changed |= step.residual > 0;
      gain_of_sweep += step.gain;
    }
    gain += gain_of_sweep;
    if (!changed || patience.exhausted(gain_of_sweep)) break;
  }
  return gain;
}

// Lines 4 to 9 of Algorithm 2 for the constraints of one example.
template <class Weights>
BlockProblem::Step Fsmo::published_step(std::size_t i, const Weights& w, Lane& lane) {
  DualBlocks& blocks = problem_.blocks();
  const double bound = problem_.cost(i);
  double sum = blocks[i].sums().duals;
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

template double Fsmo::solve(std::span<const std::size_t>, const PlainWeights&, Lane&);
template double Fsmo::solve(std::span<const std::size_t>, const AtomicWeights&, Lane&);
template double Fsmo::solve(std::span<const std::size_t>, const PrivateWeights&, Lane&);

}  // namespace marginloom
