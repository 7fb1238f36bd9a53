// The two kinds of learner that engines are written against.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/candidate.hpp"
#include "core/factored_task.hpp"
#include "core/loss.hpp"
#include "core/parallel.hpp"
#include "core/random.hpp"
#include "core/state.hpp"
#include "core/task.hpp"
#include "core/weight_policy.hpp"
#include "learners/block_workspace.hpp"
#include "learners/sent_block.hpp"

namespace marginloom {

class Averaging;

// What one thread of an engine lends to a learner: everything mutable that is not the learner's result.
struct Lane {
  Random random{0};
  std::span<const std::size_t> examples = {};  // those that this thread owns: nobody else improves their blocks
  double share = 1;                            // of the work of all threads, more or less
  std::size_t updates = 0;                     // steps that changed a weight
  std::unique_ptr<Scratch> scratch = {};       // of the learner, for differences that the task rebuilds
  BlockWorkspace block = {};
  double mean_gain = 0;                    // of the last ten thousand steps or so that were tried
  Overlay overlay = {};                    // for those steps
  std::vector<std::size_t> waiting = {};   // examples with constraints that are not solved for yet
  std::vector<std::size_t> unsolved = {};  // of the solution over many blocks that is under way
  std::vector<double> gains = {};          // of the blocks in the inner pass before, by example
  double least_gain = 0;                   // what a step must gain to be made
  double foregone = 0;                     // what the last step would have gained, if it was not made for that reason
  StopRequest* stop = nullptr;             // polled by learners that solve over many blocks at once
};

// Turns the candidates of an example, or of a batch, into a step of the weights.
class OnlineLearner {
 public:
  virtual ~OnlineLearner() = default;

  [[nodiscard]] virtual const Task& task() const = 0;

  // Called before every pass over these examples, for what must be settled before the first step, such as the
  // size of steps. Does nothing once that is done. Returns false if it was stopped.
  [[nodiscard]] virtual bool prepare(std::span<const std::size_t>, Random&, StopRequest&) { return true; }

  [[nodiscard]] virtual FindOptions search() const = 0;  // what it wants the task to find now

  // Moves w by the candidates that one round of inference found (none, if all predictions were right). Every
  // call is one tick of the clock by which weights are averaged.
  virtual void step(const CandidateBatch& candidates, const PlainWeights& w, Lane& lane) = 0;

  // The weights to predict with, given the current ones: their average, if the learner averages.
  virtual void final_weights(std::span<const double> w, std::span<double> result) const = 0;

  // For engines whose threads learn apart and mix what they learnt: a learner with the same settings and no history,
  // and its average. Learners whose results cannot be mixed have neither.
  [[nodiscard]] virtual std::unique_ptr<OnlineLearner> fresh_copy() const { return nullptr; }
  [[nodiscard]] virtual Averaging* averaging() { return nullptr; }

  [[nodiscard]] virtual StateArrays export_state() const = 0;
  virtual void import_state(const StateArrays& state) = 0;
};

// Owns dual variables, one block per example. Calls for different examples may come from different threads at
// once; calls for one example may not.
class DualLearner {
 public:
  virtual ~DualLearner() = default;

  [[nodiscard]] virtual const Task& task() const = 0;
  [[nodiscard]] virtual Loss loss() const = 0;
  [[nodiscard]] virtual double cost(std::size_t i) const = 0;  // C_i

  // What it wants the task to find for example i: among others, how violated a candidate must be to be absorbed.
  [[nodiscard]] virtual FindOptions search(std::size_t i) const = 0;

  // Tells that example i was searched and what find() returned; candidates that were found have been absorbed.
  virtual void searched(std::size_t, double) {}

  // Puts a candidate into the working set of its example, to be improved first.
  virtual void absorb(const Candidate& candidate) = 0;

  // True if example i has candidates, so that improve() can do something.
  [[nodiscard]] virtual bool has_candidates(std::size_t i) const = 0;

  // Updates the block of example i and the weights; returns the gain in the dual, never negative.
  virtual double improve(std::size_t i, const PlainWeights& w, Lane& lane) = 0;
  virtual double improve(std::size_t i, const AtomicWeights& w, Lane& lane) = 0;
  virtual double improve(std::size_t i, const PrivateWeights& w, Lane& lane) = 0;

  // The same for engines that know the scores of an example and apply the change of
  // the weights later. Only if improves_scored().
  [[nodiscard]] virtual bool improves_scored() const { return false; }
  virtual double improve(std::size_t, const ScoredWeights&, Lane&) { return 0; }

  // Ends a thread's part of a pass, for learners that solve over the blocks of all its examples at once; returns the
  // gain.
  virtual double end_part(const PlainWeights&, Lane&) { return 0; }
  virtual double end_part(const AtomicWeights&, Lane&) { return 0; }

  // For engines with one thread that owns the weights and others that own the blocks. The owner of the block of example
  // i sends a copy of its candidates; false if there is nothing to gain under its weights, which may be a little old.
  // With least_gain > 0 it tries the steps and sends only those that gain at least this share of what steps of late
  // gained on average. The owner of the weights improves what was sent and returns the gain; then the owner of the
  // block takes the duals back, and may not touch the block before. Only if sends().
  [[nodiscard]] virtual bool sends() const { return false; }
  virtual bool send(std::size_t, WeightView, [[maybe_unused]] double least_gain, Lane&, SentBlock&) { return false; }
  virtual double improve_sent(std::size_t, SentBlock&, const LoggedWeights&, Lane&) { return 0; }
  virtual void take_back(std::size_t, const SentBlock&) {}

  // Tells which examples will be improved next, so that their memory can be fetched meanwhile: their blocks, and their
  // inputs unless they are improved from scores.
  virtual void prefetch(std::span<const std::size_t>, [[maybe_unused]] bool inputs = true) const {}

  // How often an engine should improve all blocks between two passes of inference.
  [[nodiscard]] virtual int inner_passes() const { return 0; }

  // Shrinking: blocks whose last gain was below this share of the mean gain may be left out of the remaining inner
  // passes of an iteration. A pass of inference visits every block, so this changes the time and not the optimum.
  [[nodiscard]] virtual double shrinking() const { return 0; }

  // Opens a pass over the examples: what a pass that was cut short has left unfinished is forgotten. What it has done
  // to the duals stays.
  virtual void begin_pass() {}

  // Shrinking of the searches: how many an example may be left out of while it has no candidates and the ones before
  // found nothing. A certificate searches every example.
  [[nodiscard]] virtual int longest_rest() const { return 0; }

  // Closes a pass over the examples, for learners that solve over all blocks at once.
  virtual void end_pass(const PlainWeights&, Lane&) {}

  // Tells the last known objectives, so that thresholds can shrink with the gap.
  virtual void note_gap(double primal, double dual) = 0;

  // The learner's own estimate of primal - dual after a pass, if it has one that is better than the slacks as visited.
  [[nodiscard]] virtual std::optional<double> gap_estimate() const { return std::nullopt; }

  // Learners that average their dual points predict with the average: average() turns the current weights into it.
  [[nodiscard]] virtual bool averages() const { return false; }
  virtual void average(std::span<double>) const {}
  // Starts the average again from the current point: what it holds so far is of another problem.
  virtual void forget_average() {}
  [[nodiscard]] virtual double averaged_dual(double squared_norm) const { return dual(squared_norm); }

  // Wants the model to have the mean of the weights over the inner passes of the last iteration; engines without inner
  // passes over all blocks have the last weights.
  [[nodiscard]] virtual bool averages_sweeps() const { return false; }

  // The dual objective, given |w|^2.
  [[nodiscard]] virtual double dual(double squared_norm) const = 0;

  // w recomputed from the dual variables.
  virtual void write_weights(std::span<double> w) const = 0;

  [[nodiscard]] virtual std::size_t active() const = 0;  // candidates held
  [[nodiscard]] virtual std::size_t memory() const = 0;  // bytes they take

  [[nodiscard]] virtual StateArrays export_state() const = 0;
  virtual void import_state(const StateArrays& state) = 0;
};

// Forwards the versions of improve() to one template of Derived,
//   template <class Weights> double improve_block(std::size_t i, const Weights& w, Lane& lane);
template <class Derived>
class DualLearnerBase : public DualLearner {
 public:
  using DualLearner::improve;
  double improve(std::size_t i, const PlainWeights& w, Lane& lane) final {
    return static_cast<Derived*>(this)->improve_block(i, w, lane);
  }
  double improve(std::size_t i, const AtomicWeights& w, Lane& lane) final {
    return static_cast<Derived*>(this)->improve_block(i, w, lane);
  }
  double improve(std::size_t i, const PrivateWeights& w, Lane& lane) final {
    return static_cast<Derived*>(this)->improve_block(i, w, lane);
  }
};

}  // namespace marginloom
