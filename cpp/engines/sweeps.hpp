// Passes over the blocks of a thread's examples between two passes of inference.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "engines/visiting.hpp"
#include "learners/learner.hpp"

namespace marginloom {

// As many passes as the learner wants, or fewer if lane.stop says so. Calls after_pass(how many dual variables it has
// changed) after each. Returns the gain in the dual.
template <class Weights, class AfterPass>
double sweep_blocks(DualLearner& learner, const Weights& w, Lane& lane, const VisitOptions& options,
                    AfterPass after_pass) {
  const bool shrinks = learner.shrinking() > 0;
  if (shrinks) lane.gains.resize(learner.task().size());  // the first pass sets those that the others read
  double least = 0;                                       // gain that a block must have had in the pass before
  double sum = 0;
  std::vector<std::size_t> examples;
  std::vector<std::size_t> order;
  std::ranges::copy_if(lane.examples, std::back_inserter(examples),
                       [&](std::size_t i) { return learner.has_candidates(i); });
  for (int pass = 0; pass < learner.inner_passes(); ++pass) {
    order.clear();
    std::ranges::copy_if(examples, std::back_inserter(order),
                         [&](std::size_t i) { return pass == 0 || !shrinks || lane.gains[i] >= least; });
    if (options.shuffle) lane.random.shuffle(std::span(order));
    const std::size_t updates_before = lane.updates;
    double total = 0;
    for (std::size_t j = 0; j < order.size(); ++j) {
      if (j % 64 == 0 && lane.stop && lane.stop->stopped()) return sum + total;
      learner.prefetch(std::span(order).subspan(j + 1));
      const double gain = learner.improve(order[j], w, lane);
      total += gain;
      if (shrinks) lane.gains[order[j]] = gain;
    }
    sum += total;
    after_pass(lane.updates - updates_before);
    if (!order.empty()) least = learner.shrinking() * total / static_cast<double>(order.size());
  }
  return sum;
}

}  // namespace marginloom
