// One thread of an engine that drives a learner of blocks: it searches examples, improves their blocks, and counts what
// that brings. What all engines do with an example is written here, once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <span>
#include <vector>

#include "core/pass_report.hpp"
#include "core/stopwatch.hpp"
#include "engines/skipped_searches.hpp"
#include "learners/block_learner.hpp"

namespace marginloom {

// Where a worker reads and writes weights, how many threads do, and who may stop them.
struct Access {
  WeightView weights;
  WeightWriter writer;
  int threads;
  StopRequest& stop;
};

// What the search of an example has brought.
struct Found {
  std::size_t example = 0;
  double slack = 0;
  std::size_t candidates = 0;
};

class Worker {
 public:
  // Both must outlive it. Its `examples` are its own in this pass: nobody else visits their blocks.
  Worker(BlockLearner& learner, SkippedSearches& skipped, std::span<const std::size_t> examples = {})
      : examples(examples), learner_(learner), skipped_(skipped), schedule_(learner.schedule()) {}

  // Takes the memory that its searches need; else the first one does.
  void prepare() { (void)scratch(); }
  // Begins a pass with new random numbers and nothing counted.
  void begin(Random& source);

  // Searches an example and gives what is found to the learner; search(sink) returns the largest violation.
  template <class Search>
  Found find(std::size_t i, Search search) {
    std::size_t candidates = 0;
    FunctionSink sink([&](const Candidate& candidate) {
      learner_.absorb(candidate, visit.scratch);
      ++candidates;
    });
    const double slack = search(sink);
    if (skipped_.any()) skipped_.note(i, candidates == 0 && learner_.blocks()[i].empty());
    return {i, slack, candidates};
  }
  // The same by the task's own search with these weights.
  Found find(std::size_t i, WeightView w, bool in_motion);

  // Tells the learner that an example was searched, and counts it. Candidates are accepted if the learner can still use
  // them.
  void note(const Found& found, std::size_t accepted);
  void note(const Found& found) { note(found, found.candidates); }

  // What follows: a visit of the block, or a solution over several blocks if it is time for that.
  void improve(const Found& found, const Access& access);
  // The same at the end of the worker's part of a pass.
  void end_part(const Access& access);

  // All of it for the first of the examples that come; `between` is called before the block is improved.
  template <class Between = decltype([] {})>
  void search_and_improve(std::span<const std::size_t> coming, const Access& access, Between between = {}) {
    learner_.prefetch(coming.subspan(1), access.weights);
    const Found found = find(coming.front(), access.weights, access.threads > 1);
    note(found);
    time.inference += watch_.lap();
    between();
    improve(found, access);
    time.update += watch_.lap();
  }

  // As many passes over its blocks as the learner wants, or fewer if make_pass() says so. make_pass(order, note) visits
  // the blocks of the order, calls note(place in the order, step) after each, and returns false if it was stopped.
  // Calls after_pass(how many duals have changed) after each pass.
  template <class MakePass, class AfterPass>
  void inner_passes(bool shuffle, MakePass make_pass, AfterPass after_pass);
  // The same by plain visits.
  template <class AfterPass>
  void inner_passes(bool shuffle, const Access& access, AfterPass after_pass);

  // What searches of the task need.
  [[nodiscard]] Scratch& scratch();

  Visit visit;
  Random random{0};                       // for the order of its visits
  std::span<const std::size_t> examples;  // those that it has searched, or is to search
  PassReport report;                      // counts of this pass
  ThreadTime time;                        // in this pass
  double loss_sum = 0;                    // sum_i C_i l(slack_i) of this pass
  double gain = 0;                        // in the dual in this pass, as its steps have it
  std::size_t updates = 0;                // duals that changed

 private:
  void solve_together(const Together& together, const Access& access);

  BlockLearner& learner_;
  SkippedSearches& skipped_;
  Schedule schedule_;
  std::unique_ptr<Scratch> scratch_;
  Stopwatch watch_;
  // Since blocks were last solved together: examples with new candidates, and how many these are.
  std::vector<std::size_t> waiting_;
  std::size_t candidates_ = 0;
  std::vector<double> gains_;  // of the blocks in the inner pass before, by example
};

template <class MakePass, class AfterPass>
void Worker::inner_passes(bool shuffle, MakePass make_pass, AfterPass after_pass) {
  const bool shrinks = schedule_.shrinking > 0;
  if (shrinks) gains_.resize(learner_.task().size());  // the first pass sets those that the others read
  double mean = 0;                                     // gain of a block in the pass before
  double sum = 0;
  std::vector<std::size_t> filled;
  std::vector<std::size_t> order;
  std::ranges::copy_if(examples, std::back_inserter(filled),
                       [&](std::size_t i) { return !learner_.blocks()[i].empty(); });
  for (int pass = 0; pass < schedule_.inner_passes; ++pass) {
    const double least = schedule_.shrinking * mean;
    order.clear();
    std::ranges::copy_if(filled, std::back_inserter(order),
                         [&](std::size_t i) { return pass == 0 || !shrinks || gains_[i] >= least; });
    if (order.empty()) break;  // it stays so
    if (shuffle) random.shuffle(std::span(order));
    const std::size_t updates_before = updates;
    double total = 0;
    const auto note = [&](std::size_t j, const Step& step) {
      updates += step.updates;
      sum += step.gain;
      total += step.gain;
      if (shrinks) gains_[order[j]] = step.gain;
    };
    const bool whole = make_pass(std::span<const std::size_t>(order), note);
    if (!whole) break;
    after_pass(updates - updates_before);
    mean = total / static_cast<double>(order.size());
  }
  gain += sum;
}

template <class AfterPass>
void Worker::inner_passes(bool shuffle, const Access& access, AfterPass after_pass) {
  const auto make_pass = [&](std::span<const std::size_t> order, auto note) {
    for (std::size_t j = 0; j < order.size(); ++j) {
      if (j % 64 == 0 && access.stop.stopped()) return false;
      learner_.prefetch(order.subspan(j + 1), access.weights);
      note(j, learner_.visit(order[j], access.weights, access.writer, visit, true));
    }
    return true;
  };
  inner_passes(shuffle, make_pass, after_pass);
}

}  // namespace marginloom
