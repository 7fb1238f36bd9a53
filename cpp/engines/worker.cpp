#include "engines/worker.hpp"

#include "engines/sweeps.hpp"

namespace marginloom {
namespace {

// Task::find() with weights that other threads are changing: a function of its own, so that the thread sanitizer can be
// told of just these reads.
[[gnu::noinline]] double find_in_live_weights(const Task& task, std::size_t i, WeightView w, const FindOptions& options,
                                              Scratch& scratch, CandidateSink& sink) {
  FindOptions live = options;
  live.in_motion = true;
  return task.find(i, w, live, scratch, sink);
}

}  // namespace

Scratch& Worker::scratch() {
  if (!scratch_) scratch_ = learner_.task().make_scratch();
  return *scratch_;
}

void Worker::begin(Random& source) {
  random = Random(source.next());
  visit.asked.random = Random(source.next());
  report = {};
  time = {};
  watch_ = {};
  loss_sum = gain = 0;
  waiting_.clear();
  candidates_ = 0;
}

Found Worker::find(std::size_t i, WeightView w, bool in_motion) {
  const Task& task = learner_.task();
  return find(i, [&](CandidateSink& sink) {
    const FindOptions options = learner_.search(i);
    return in_motion ? find_in_live_weights(task, i, w, options, scratch(), sink)
                     : task.find(i, w, options, scratch(), sink);
  });
}

void Worker::note(const Found& found, std::size_t accepted) {
  learner_.searched(found.example, found.slack);
  ++report.inferences;
  report.found += found.candidates;
  report.accepted += accepted;
  report.wrong += found.candidates > 0 ? 1 : 0;
  report.training_loss += found.slack;
  loss_sum += learner_.cost(found.example) * loss_value(learner_.loss(), found.slack);
}

void Worker::improve(const Found& found, const Access& access) {
  if (!schedule_.together) {
    const Step step = learner_.visit(found.example, access.weights, access.writer, visit, true);
    updates += step.updates;
    gain += step.gain;
    return;
  }
  if (found.candidates > 0) waiting_.push_back(found.example);
  candidates_ += found.candidates;
  const auto together = learner_.due({examples, waiting_, candidates_, false, access.threads});
  if (together) solve_together(*together, access);
}

void Worker::end_part(const Access& access) {
  const auto together = learner_.due({examples, waiting_, candidates_, true, access.threads});
  if (together) solve_together(*together, access);
}

// Candidates are dropped at the end only: a dual that is 0 on the way may rise again.
void Worker::solve_together(const Together& together, const Access& access) {
  Blocks& blocks = learner_.blocks();
  std::vector<std::size_t> filled;
  std::ranges::copy_if(together.examples, std::back_inserter(filled),
                       [&](std::size_t i) { return !blocks[i].empty(); });
  candidates_ = 0;
  const Sweeps done = sweep_together(together, filled, random, access.stop, [&](std::span<const std::size_t> coming) {
    learner_.prefetch(coming.subspan(1), access.weights);
    return learner_.visit(coming.front(), access.weights, access.writer, visit, false);
  });
  updates += done.updates;
  gain += done.gain;
  if (done.stopped) return;  // what is not solved yet stays as it is
  for (const std::size_t i : together.examples) {
    if (together.drops && blocks[i].has_zero_duals()) blocks.drop_zero_duals(i);
  }
  waiting_.clear();  // only now: it may be what was solved over
}

}  // namespace marginloom
