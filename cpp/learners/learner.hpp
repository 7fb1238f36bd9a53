// The two kinds of learner that engines are written against.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/candidate.hpp"
#include "core/example_ids.hpp"
#include "core/loss.hpp"
#include "core/parallel.hpp"
#include "core/prefetch.hpp"
#include "core/random.hpp"
#include "core/state.hpp"
#include "core/task.hpp"
#include "learners/blocks.hpp"
#include "learners/step_average.hpp"
#include "learners/visit.hpp"

namespace marginloom {

class Averaging;

// Turns the candidates of an example, or of a batch, into a step of the weights.
class OnlineLearner {
 public:
  virtual ~OnlineLearner() = default;

  [[nodiscard]] virtual const Task& task() const = 0;

  // Called before every pass over these examples, for what must be settled before the first step, such as the
  // size of steps. Does nothing once that is done. Returns false if it was stopped.
  [[nodiscard]] virtual bool prepare(std::span<const std::size_t>, Random&, StopRequest&) { return true; }

  [[nodiscard]] virtual FindOptions search() const = 0;  // what it wants the task to find now

  // Moves w by the candidates that one round of inference found (none, if all predictions were right), and returns how
  // many of them it used. Every call is one tick of the clock by which weights are averaged.
  virtual std::size_t step(const CandidateBatch& candidates, std::span<double> w) = 0;

  // The weights to predict with, given the current ones: their average, if the learner averages.
  virtual void final_weights(std::span<const double> w, std::span<double> result) const = 0;

  // For engines whose threads learn apart and mix what they learnt: a learner with the same settings and no history,
  // and its average. Learners whose results cannot be mixed have neither.
  [[nodiscard]] virtual std::unique_ptr<OnlineLearner> fresh_copy() const { return nullptr; }
  [[nodiscard]] virtual Averaging* averaging() { return nullptr; }

  [[nodiscard]] virtual StateArrays export_state() const = 0;
  virtual void import_state(const StateArrays& state) = 0;
};

// When the blocks are visited between two passes of inference, which an engine follows or refuses.
struct Schedule {
  int inner_passes = 0;  // over all blocks
  // Blocks whose last gain was below this share of the mean gain may be left out of the remaining inner passes of an
  // iteration. A pass of inference visits every block, so this changes the time and not the optimum.
  double shrinking = 0;
  // How many searches an example may be left out of while it has no candidates and the ones before found nothing. A
  // certificate searches every example.
  int longest_rest = 0;
  bool averaged = false;  // the model has the mean of the weights over the inner passes of the last iteration
  bool together = false;  // blocks are not visited after their search, but when due() says so
  bool lends = false;     // whoever has a copy of a block, and what was gathered for it, can improve it by solve()
};

// What a learner has to say at the end of a pass.
struct PassEnd {
  std::size_t updates = 0;         // of variables that do not belong to examples
  std::optional<double> gap = {};  // its own estimate of primal - dual, if it is better than the slacks as visited
};

// Blocks that are to be solved together, and until when.
struct Together {
  std::span<const std::size_t> examples;
  double tolerance = 0;       // until no block has a larger residual
  bool whole_sweeps = false;  // also blocks that are solved are visited in a sweep
  bool drops = true;          // candidates whose dual is 0 in the end
  std::function<bool(double)> enough = [](double) { return false; };  // asked after a sweep, with what it gained
};

// What a learner minimises: 1/2 |w|^2 + sum_i costs[i] loss(slack_i).
struct Objective {
  std::shared_ptr<const Task> task;
  std::vector<double> costs;
  Loss loss;
};

// Owns dual variables, one block per example. Calls for different examples may come from different threads at
// once, each with a visit of its own; calls for one example may not.
class DualLearner {
 public:
  // `memory` and `products` are those of Blocks.
  DualLearner(Objective&& objective, std::size_t memory, bool products);
  virtual ~DualLearner() = default;
  DualLearner(const DualLearner&) = delete;
  DualLearner& operator=(const DualLearner&) = delete;
  DualLearner(DualLearner&&) = default;
  DualLearner& operator=(DualLearner&&) = default;

  [[nodiscard]] const Task& task() const { return *objective_.task; }
  [[nodiscard]] const std::shared_ptr<const Task>& shared_task() const { return objective_.task; }
  [[nodiscard]] Loss loss() const { return objective_.loss; }
  [[nodiscard]] double cost(std::size_t i) const { return objective_.costs[i]; }

  // States name the examples by their places, or by these ids, if they are some of a larger set.
  [[nodiscard]] const ExampleIds& ids() const { return ids_; }
  void name_examples(std::vector<std::uint64_t> ids);
  [[nodiscard]] Blocks& blocks() { return blocks_; }
  [[nodiscard]] const Blocks& blocks() const { return blocks_; }
  // The average of its dual points, if it predicts with that.
  [[nodiscard]] StepAverage* average() { return average_.get(); }

  // Fetches the memory of examples that are visited soon: what Blocks::prefetch() does, and what is kept beside blocks.
  void prefetch(std::span<const std::size_t> coming, WeightView w, bool inputs = true) const;
  [[nodiscard]] virtual Schedule schedule() const { return {}; }

  // What it wants the task to find for example i: among others, how violated a candidate must be to be absorbed.
  [[nodiscard]] virtual FindOptions search(std::size_t i) const = 0;
  // Takes a candidate into the block of its example, to be improved first.
  virtual void absorb(const Candidate& candidate, Visit& visit) { blocks_.absorb(candidate, visit); }
  // Tells that example i was searched and what find() returned; candidates that were found have been absorbed.
  virtual void searched(std::size_t, double) {}

  // Improves the duals of the block that the visit works on, by what was gathered. Changes the visit and nothing else:
  // the block may be a copy, and a step may only be tried.
  [[nodiscard]] virtual Step solve(std::size_t i, Visit& visit) const = 0;
  // Takes over the duals that a visit has led to; candidates with a dual of 0 may be dropped.
  virtual void settle(std::size_t i, const Visit& visit, const Step& step, bool may_drop) = 0;
  // All of a visit: gather from w, solve, scatter, settle. Most learners do not see w.
  virtual Step visit(std::size_t i, WeightView w, const WeightWriter& writer, Visit& visit, bool may_drop);

  // The blocks that are to be solved together now that example i was searched (or, without one, that a thread has come
  // to the end of its part), for one of so many threads that has searched these examples.
  [[nodiscard]] virtual std::optional<Together> due(std::optional<std::size_t>, std::span<const std::size_t>, int,
                                                    Visit&) {
    return std::nullopt;
  }

  // Opens a pass over the examples: what a pass that was cut short has left unfinished is forgotten. What it has done
  // to the duals stays. Closes it, where variables that do not belong to examples are solved for.
  virtual void begin_pass() {}
  virtual PassEnd end_pass(std::span<double> w, Visit& visit, StopRequest& stop);

  // Tells the last known objectives, so that thresholds can shrink with the gap.
  virtual void note_gap(double, double) {}

  // The dual objective, given |w|^2; and w recomputed from the dual variables.
  [[nodiscard]] virtual double dual(double squared_norm) const = 0;
  virtual void write_weights(std::span<double> w) { blocks_.write_weights(w); }

  struct Held {
    std::size_t candidates = 0;
    std::size_t bytes = 0;
  };
  [[nodiscard]] virtual Held held() const { return {blocks_.active(), blocks_.memory()}; }

  // A state names examples by their ids, and may hold others than this learner has: those are left out, and examples
  // that it does not hold have no duals.
  [[nodiscard]] virtual StateArrays export_state() const = 0;
  virtual void import_state(const StateArrays& state) = 0;
  // States of disjoint examples as one; the duals of both are those of the union. Throws std::invalid_argument if an
  // example is in both, or if this learner's variables do not belong to examples.
  [[nodiscard]] virtual StateArrays merged(const StateArrays& first, const StateArrays& second) const = 0;

 protected:
  // Asks for what is kept of example i beside its block.
  virtual void prefetch_example(std::size_t i) const { prefetch_line(&objective_.costs[i]); }

  Objective objective_;
  ExampleIds ids_;
  Blocks blocks_;
  std::unique_ptr<StepAverage> average_;
};

}  // namespace marginloom
