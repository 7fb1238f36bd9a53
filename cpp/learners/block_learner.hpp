// The dual learners that keep a block of candidates per example: what engines that search examples and visit blocks
// see of them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "core/candidate.hpp"
#include "core/parallel.hpp"
#include "core/prefetch.hpp"
#include "core/weight_writer.hpp"
#include "learners/blocks.hpp"
#include "learners/dual_learner.hpp"
#include "learners/schedule.hpp"
#include "learners/step_average.hpp"
#include "learners/visit.hpp"

namespace marginloom {

// Calls for different examples may come from different threads at once, each with a visit of its own; calls for one
// example may not.
class BlockLearner : public DualLearner {
 public:
  // `memory` and `products` are those of Blocks.
  BlockLearner(Objective&& objective, std::size_t memory, bool products);

  [[nodiscard]] Blocks& blocks() { return blocks_; }
  [[nodiscard]] const Blocks& blocks() const { return blocks_; }
  // Fetches the memory of examples that are visited soon: what Blocks::prefetch() does, and what is kept beside blocks.
  void prefetch(std::span<const std::size_t> coming, WeightView w, bool inputs = true) const;

  [[nodiscard]] virtual Schedule schedule() const { return {}; }
  // The average of its dual points, if it predicts with that.
  [[nodiscard]] StepAverage* average() { return average_.get(); }

  // What it wants the task to find for example i: among others, how violated a candidate must be to be absorbed.
  [[nodiscard]] virtual FindOptions search(std::size_t i) const = 0;
  // Takes a candidate into the block of its example, to be improved first.
  virtual void absorb(const Candidate& candidate, VisitScratch& scratch) { blocks_.absorb(candidate, scratch); }
  // Tells that example i was searched and what find() returned; candidates that were found have been absorbed.
  virtual void searched(std::size_t, double) {}

  // Improves the duals of the open block, by what was gathered. Changes the visit and nothing else: the block may be a
  // copy, and a step may only be tried.
  [[nodiscard]] virtual Step solve(std::size_t i, Visit& visit) const = 0;
  // Takes over the duals that a visit has led to; candidates with a dual of 0 may be dropped.
  virtual void settle(std::size_t i, std::span<const double> duals, const Step& step, bool may_drop) = 0;
  // All of a visit: gather from w, solve, scatter, settle. Most learners do not see w.
  virtual Step visit(std::size_t i, WeightView w, const WeightWriter& writer, Visit& visit, bool may_drop);

  // The blocks that are to be solved together now, if any are, given what a thread has searched since the last time.
  [[nodiscard]] virtual std::optional<Together> due(const Searched&) { return std::nullopt; }

  // Opens a pass over the examples: what a pass that was cut short has left unfinished is forgotten. What it has done
  // to the duals stays. Closes it, where variables that do not belong to examples are solved for.
  virtual void begin_pass() {}
  virtual PassEnd end_pass(std::span<double> w, Visit& visit, StopRequest& stop);

  void write_weights(std::span<double> w, int threads = 1) override { blocks_.write_weights(w, threads); }
  [[nodiscard]] Held held() const override { return {blocks_.active(), blocks_.memory()}; }

 protected:
  // Asks for what is kept of example i beside its block.
  virtual void prefetch_example(std::size_t i) const { prefetch_line(&objective_.costs[i]); }

  Blocks blocks_;
  std::unique_ptr<StepAverage> average_;
};

}  // namespace marginloom
