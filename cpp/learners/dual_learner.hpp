// The learners that own dual variables, as engines see them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/candidate.hpp"
#include "core/example_ids.hpp"
#include "core/example_numbers.hpp"
#include "core/loss.hpp"
#include "core/parallel.hpp"
#include "core/prefetch.hpp"
#include "core/state.hpp"
#include "core/task.hpp"
#include "learners/blocks.hpp"
#include "learners/schedule.hpp"
#include "learners/step_average.hpp"
#include "learners/visit.hpp"

namespace marginloom {

// What a learner minimises: 1/2 |w|^2 + sum_i costs[i] loss(slack_i).
struct Objective {
  std::shared_ptr<const Task> task;
  ExampleNumbers costs;
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
  [[nodiscard]] const ExampleNumbers& costs() const { return objective_.costs; }

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
  virtual void write_weights(std::span<double> w, int threads = 1) { blocks_.write_weights(w, threads); }

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
