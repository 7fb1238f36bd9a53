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

// Ends the bound on the gain of steps with the passes that it is for.
class LeastGain {
 public:
  explicit LeastGain(Lane& lane) : lane_(lane) {}
  ~LeastGain() { lane_.least_gain = 0; }
  LeastGain(const LeastGain&) = delete;
  LeastGain& operator=(const LeastGain&) = delete;

 private:
  Lane& lane_;
};

// Improves the blocks of the examples in their order under the weights of one policy: a way to make a pass for
// sweep_blocks().
template <class Weights>
auto improving(DualLearner& learner, const Weights& w, Lane& lane) {
  return [&learner, &w, &lane](std::span<const std::size_t> order, auto note) {
    for (std::size_t j = 0; j < order.size(); ++j) {
      if (j % 64 == 0 && lane.stop && lane.stop->stopped()) return false;
      learner.prefetch(order.subspan(j + 1));
      lane.foregone = 0;
      note(j, learner.improve(order[j], w, lane));
    }
    return true;
  };
}

// As many passes as the learner wants, or fewer if make_pass() says so. make_pass(order, note) improves the blocks of
// the order, calls note(place in the order, gain) after each, and returns false if it was stopped. Calls
// after_pass(how many dual variables have changed) after each pass. A step that gains less than `least_gain` times what
// the blocks of the pass before gained on average may be left for later; at most 1, so that there is always a step to
// be made. Returns the gain in the dual.
template <class MakePass, class AfterPass>
double sweep_blocks(DualLearner& learner, Lane& lane, const VisitOptions& options, double least_gain,
                    MakePass make_pass, AfterPass after_pass) {
  const bool shrinks = learner.shrinking() > 0;
  if (shrinks) lane.gains.resize(learner.task().size());  // the first pass sets those that the others read
  const LeastGain reset(lane);
  double mean = 0;  // gain of a block in the pass before, steps that were not made counted too
  double sum = 0;
  std::vector<std::size_t> examples;
  std::vector<std::size_t> order;
  std::ranges::copy_if(lane.examples, std::back_inserter(examples),
                       [&](std::size_t i) { return learner.has_candidates(i); });
  for (int pass = 0; pass < learner.inner_passes(); ++pass) {
    const double least = learner.shrinking() * mean;
    order.clear();
    std::ranges::copy_if(examples, std::back_inserter(order),
                         [&](std::size_t i) { return pass == 0 || !shrinks || lane.gains[i] >= least; });
    if (order.empty()) break;  // it stays so
    if (options.shuffle) lane.random.shuffle(std::span(order));
    const std::size_t updates_before = lane.updates;
    double total = 0;
    lane.least_gain = least_gain * mean;
    const auto note = [&](std::size_t j, double made) {
      const double gain = made + lane.foregone;
      sum += made;
      total += gain;
      if (shrinks) lane.gains[order[j]] = gain;
    };
    if (!make_pass(std::span<const std::size_t>(order), note)) break;
    after_pass(lane.updates - updates_before);
    mean = total / static_cast<double>(order.size());
  }
  return sum;
}

}  // namespace marginloom
