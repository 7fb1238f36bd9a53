// How an engine visits blocks: the part of one thread, passes over it between two passes of inference, and blocks that
// are solved together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <vector>

#include "engines/pass_order.hpp"
#include "learners/dual_learner.hpp"

namespace marginloom {

// One thread that visits blocks.
struct Visitor {
  Visit visit = {};
  Random random{0};                            // for the order of its visits
  std::span<const std::size_t> examples = {};  // those that are its own: nobody else visits their blocks
  std::size_t updates = 0;                     // duals that changed
  std::vector<double> gains = {};              // of the blocks in the inner pass before, by example

  // Begins a pass with new random numbers.
  void begin(Random& source) {
    random = Random(source.next());
    visit.random = Random(source.next());
    visit.waiting.clear();
  }
};

// Where visits read and write weights, how many threads do, and who may stop them.
struct Access {
  WeightView weights;
  WeightWriter writer;
  int threads;
  StopRequest& stop;
};

// Task::find() with weights that other threads are changing: a function of its own, so that the thread sanitizer can be
// told of just these reads.
double find_in_live_weights(const Task& task, std::size_t i, WeightView w, const FindOptions& options, Scratch& scratch,
                            CandidateSink& sink);

// Visits the blocks of the examples until none has a larger residual than asked for, or it is enough. A sweep visits
// those that were not solved in the one before; when none is left, one more visits all, since w has moved. Candidates
// are dropped at the end only: a dual that is 0 on the way may rise again. Returns the gain.
double solve_together(DualLearner& learner, const Together& together, Visitor& visitor, const Access& access);

// What follows the search of example i: a visit, or a solution over several blocks if it is time for it. Returns the
// gain.
double improve(DualLearner& learner, std::size_t i, Visitor& visitor, const Access& access);

// The same at the end of a thread's part of a pass.
double end_part(DualLearner& learner, Visitor& visitor, const Access& access);

// Visits the examples in their order: a way to make a pass for inner_passes().
inline auto visiting(DualLearner& learner, Visitor& visitor, const Access& access) {
  return [&](std::span<const std::size_t> order, auto note) {
    for (std::size_t j = 0; j < order.size(); ++j) {
      if (j % 64 == 0 && access.stop.stopped()) return false;
      learner.prefetch(order.subspan(j + 1), access.weights);
      note(j, learner.visit(order[j], access.weights, access.writer, visitor.visit, true));
    }
    return true;
  };
}

// As many passes over the blocks as the learner wants, or fewer if make_pass() says so. make_pass(order, note) visits
// the blocks of the order, calls note(place in the order, step) after each, and returns false if it was stopped. Calls
// after_pass(how many duals have changed) after each pass. Returns the gain in the dual.
template <class MakePass, class AfterPass>
double inner_passes(DualLearner& learner, Visitor& visitor, bool shuffle, MakePass make_pass, AfterPass after_pass) {
  const Schedule schedule = learner.schedule();
  const bool shrinks = schedule.shrinking > 0;
  if (shrinks) visitor.gains.resize(learner.task().size());  // the first pass sets those that the others read
  double mean = 0;                                           // gain of a block in the pass before
  double sum = 0;
  std::vector<std::size_t> examples;
  std::vector<std::size_t> order;
  std::ranges::copy_if(visitor.examples, std::back_inserter(examples),
                       [&](std::size_t i) { return !learner.blocks()[i].empty(); });
  for (int pass = 0; pass < schedule.inner_passes; ++pass) {
    const double least = schedule.shrinking * mean;
    order.clear();
    std::ranges::copy_if(examples, std::back_inserter(order),
                         [&](std::size_t i) { return pass == 0 || !shrinks || visitor.gains[i] >= least; });
    if (order.empty()) break;  // it stays so
    if (shuffle) visitor.random.shuffle(std::span(order));
    const std::size_t updates_before = visitor.updates;
    double total = 0;
    const auto note = [&](std::size_t j, const Step& step) {
      visitor.updates += step.updates;
      sum += step.gain;
      total += step.gain;
      if (shrinks) visitor.gains[order[j]] = step.gain;
    };
    const bool whole = make_pass(std::span<const std::size_t>(order), note);
    if (!whole) break;
    after_pass(visitor.updates - updates_before);
    mean = total / static_cast<double>(order.size());
  }
  return sum;
}

}  // namespace marginloom
