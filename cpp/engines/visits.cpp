#include "engines/visits.hpp"

namespace marginloom {

[[gnu::noinline]] double find_in_live_weights(const Task& task, std::size_t i, WeightView w, const FindOptions& options,
                                              Scratch& scratch, CandidateSink& sink) {
  FindOptions live = options;
  live.in_motion = true;
  return task.find(i, w, live, scratch, sink);
}

double solve_together(DualLearner& learner, const Together& together, Visitor& visitor, const Access& access) {
  constexpr int most_sweeps = 100'000;  // far more than it takes; the gap tells if it was too few
  Blocks& blocks = learner.blocks();
  std::vector<std::size_t> unsolved;
  double gain = 0;
  bool stopped = false;
  for (int sweep = 0; sweep < most_sweeps && !stopped; ++sweep) {
    const bool all = unsolved.empty() || together.whole_sweeps;
    if (all) {
      unsolved.clear();
      std::ranges::copy_if(together.examples, std::back_inserter(unsolved),
                           [&](std::size_t i) { return !blocks[i].empty(); });
    }
    if (!together.whole_sweeps) visitor.random.shuffle(std::span(unsolved));
    std::size_t left = 0;
    double gain_of_sweep = 0;
    for (std::size_t j = 0; j < unsolved.size(); ++j) {
      if (j % 64 == 0 && access.stop.stopped()) {
        stopped = true;
        break;
      }
      learner.prefetch(std::span<const std::size_t>(unsolved).subspan(j + 1), access.weights);
      const Step step = learner.visit(unsolved[j], access.weights, access.writer, visitor.visit, false);
      visitor.updates += step.updates;
      gain_of_sweep += step.gain;
      if (step.residual > together.tolerance) {
        ++left;
        if (!together.whole_sweeps) unsolved[left - 1] = unsolved[j];
      }
    }
    gain += gain_of_sweep;
    if (!together.whole_sweeps && !stopped) unsolved.resize(left);
    if ((all && left == 0) || together.enough(gain_of_sweep)) break;
  }
  if (stopped) return gain;  // what is not solved yet stays as it is
  for (const std::size_t i : together.examples) {
    if (together.drops && blocks[i].has_zero_duals()) blocks.drop_zero_duals(i);
  }
  visitor.visit.waiting.clear();  // only now: it may be what was solved over
  return gain;
}

double improve(DualLearner& learner, std::size_t i, Visitor& visitor, const Access& access) {
  if (!learner.schedule().together) {
    const Step step = learner.visit(i, access.weights, access.writer, visitor.visit, true);
    visitor.updates += step.updates;
    return step.gain;
  }
  const auto together = learner.due(i, visitor.examples, access.threads, visitor.visit);
  return together ? solve_together(learner, *together, visitor, access) : 0;
}

double end_part(DualLearner& learner, Visitor& visitor, const Access& access) {
  const auto together = learner.due(std::nullopt, visitor.examples, access.threads, visitor.visit);
  return together ? solve_together(learner, *together, visitor, access) : 0;
}

}  // namespace marginloom
