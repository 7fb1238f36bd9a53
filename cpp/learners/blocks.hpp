// The blocks of all examples, within a budget of memory.
//
// Where support and rows of the blocks would exceed the budget, blocks do without, and the task rebuilds them from the
// outputs in the scratch of whoever visits. That costs time and nothing else: what is rebuilt is what was stored to the
// last bit, so neither the optimum nor a single step depends on the budget. Outputs and duals are always kept, whatever
// the budget; they are the solution.
#pragma once

#include <atomic>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "core/block.hpp"
#include "core/example_ids.hpp"
#include "core/parallel.hpp"
#include "core/state.hpp"
#include "core/task.hpp"
#include "learners/dual_point.hpp"
#include "learners/visit.hpp"

namespace marginloom {

class Blocks {
 public:
  static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

  // `products`: blocks keep the products of their candidates. Without a budget there are no blocks: that is for engines
  // which have the duals themselves.
  Blocks(std::shared_ptr<const Task> task, std::size_t budget, bool products);

  // Blocks of the same kind without a candidate, with that share of the budget.
  [[nodiscard]] Blocks another(double share) const;

  [[nodiscard]] const Task& task() const { return *task_; }
  [[nodiscard]] const std::shared_ptr<const Task>& shared_task() const { return task_; }
  [[nodiscard]] std::size_t size() const { return blocks_.size(); }
  [[nodiscard]] Block& operator[](std::size_t i) { return blocks_[i]; }
  [[nodiscard]] const Block& operator[](std::size_t i) const { return blocks_[i]; }

  // Puts a candidate first in the block of its example.
  void absorb(const Candidate& candidate, VisitScratch& scratch);

  // Replaces the block of example i by a copy of one of the same example, or by none.
  void put(std::size_t i, const Block& from);

  // Makes the block of example i, with everything that it may do without, the one that the visit works on.
  void open(std::size_t i, Visit& visit);

  // Adds what the duals of example i make of the weights, so many times.
  void add(std::size_t i, double times, const WeightWriter& w, Visit& visit);

  // Candidates whose dual is 0, but for those that are held.
  void drop_zero_duals(std::size_t i);
  // Holds the candidates that have a dual at this point, or none.
  void hold(const DualPoint* point) { point_ = point; }
  void keep_first(std::size_t i, std::size_t count);

  // Lets blocks forget their rows, one after the other, while they exceed the budget. Not to be called while other
  // threads use the blocks.
  void trim();

  // Fetches the memory of blocks that are visited soon, and of the weights or inputs that they read: first where it is,
  // then the block, then what the block names.
  void prefetch(std::span<const std::size_t> coming, WeightView w, bool inputs = true) const;

  // w = sum of dual * difference; the same bits for any number of threads.
  void write_weights(std::span<double> w, int threads = 1) const;
  [[nodiscard]] std::size_t active() const { return std::atomic_ref(active_).load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t memory() const { return std::atomic_ref(held_).load(std::memory_order_relaxed); }

  // The duals with the outputs they belong to, and blocks made of them: every candidate is rebuilt through the task.
  // Outputs that the task does not allow, and those that no longer differ from gold in loss or features, are left out.
  [[nodiscard]] StateArrays export_state(const ExampleIds& ids) const;
  [[nodiscard]] Blocks imported(const StateArrays& state, const ExampleIds& ids) const;
  // The duals of two states of different examples.
  [[nodiscard]] static StateArrays merged(const StateArrays& first, const StateArrays& second);

 private:
  [[nodiscard]] bool has_room(std::size_t bytes, std::size_t limit) const {
    const std::size_t held = memory();
    return held < limit && bytes <= limit - held;
  }
  // What stays free below the budget when rows are stored again or trimmed is for new candidates.
  [[nodiscard]] std::size_t refill_limit() const { return budget_ - budget_ / 8; }
  void put_first(Block& block, const Candidate& candidate, Block::Keep keep, VisitScratch& scratch) const;
  void rebuild(std::size_t i, VisitScratch& scratch) const;
  void write_all(std::span<double> w) const;
  void write_range(std::span<double> w, std::size_t begin, std::size_t end) const;
  [[nodiscard]] std::vector<std::size_t> ranges_of_weights(std::size_t count) const;
  template <class Change>
  void change(Block& block, Change make);

  std::shared_ptr<const Task> task_;
  const ImplicitDifferences* implicit_;  // of the task, if it has them
  bool products_;
  std::size_t budget_;
  std::vector<Block> blocks_;
  // Bytes and candidates; threads that work on different blocks change them atomically.
  mutable std::size_t held_;
  mutable std::size_t active_ = 0;
  const DualPoint* point_ = nullptr;
  std::size_t next_to_trim_ = 0;
};

}  // namespace marginloom
