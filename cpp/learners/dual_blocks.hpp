// Dual variables kept as one working set per example: what DCD and its relatives share.
//
// Memory has a budget. Where the stored differences of candidates would exceed it, candidates are kept
// without, and the task rebuilds the difference from the output whenever a step needs it. That costs time and
// nothing else: a rebuilt difference is the stored one to the last bit, so neither the optimum nor a single
// step depends on the budget. Members and their outputs are always kept, whatever the budget; dual variables
// are the solution.
#pragma once

#include <atomic>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "core/factored_task.hpp"
#include "core/state.hpp"
#include "core/task.hpp"
#include "core/working_set.hpp"
#include "learners/block_workspace.hpp"
#include "learners/sent_block.hpp"

namespace marginloom {

class DualBlocks {
 public:
  static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

  explicit DualBlocks(std::shared_ptr<const Task> task, std::size_t budget = unlimited);

  [[nodiscard]] const Task& task() const { return *task_; }
  [[nodiscard]] const std::shared_ptr<const Task>& shared_task() const { return task_; }
  [[nodiscard]] std::size_t size() const { return sets_.size(); }
  [[nodiscard]] bool implicit() const { return implicit_; }  // differences are not stored but evaluated by the task
  [[nodiscard]] WorkingSet& operator[](std::size_t i) { return sets_[i]; }
  [[nodiscard]] const WorkingSet& operator[](std::size_t i) const { return sets_[i]; }

  // Puts a candidate first in the working set of its example.
  void absorb(const Candidate& candidate);

  // Removes the members of example i whose dual is 0.
  void drop_zero_duals(std::size_t i);

  // Removes all members of example i but the first ones.
  void keep_first(std::size_t i, std::size_t count);

  // Forgets stored differences, block by block in turn, while they exceed the budget. Not to be called while
  // other threads use the blocks.
  void trim();

  // The entries of a member's difference d, for project() and add(): stored, or rebuilt in the scratch, which
  // is made when it is first needed. Empty if the task's differences are implicit.
  [[nodiscard]] std::span<const Entry> entries(std::size_t i, const WorkingSet::Member& member,
                                               std::unique_ptr<Scratch>& scratch) const {
    return member.stored() ? sets_[i].difference(member) : rebuilt(i, member, scratch);
  }

  // Stores rebuilt entries if there is room again.
  void keep(std::size_t i, WorkingSet::Member& member, std::span<const Entry> entries) {
    if (!member.stored() && has_room(entries.size_bytes(), refill_limit())) store(i, member, entries);
  }

  // Lays out the outputs and the differences of all members of example i in the workspace.
  void gather(std::size_t i, BlockWorkspace& work, std::unique_ptr<Scratch>& scratch) const;

  // d_j.d_k of two members whose differences have been gathered.
  [[nodiscard]] double product(std::size_t i, std::size_t j, std::size_t k, BlockWorkspace& work) const;

  // H of the workspace's programme: all products, each times `factor`.
  void fill_products(std::size_t i, BlockWorkspace& work, double factor) const;

  // w.d and the policy's extra curvature.
  template <class Weights>
  [[nodiscard]] Projection project(std::size_t i, const WorkingSet::Member& member, std::span<const Entry> entries,
                                   const Weights& w) const {
    if constexpr (SingleWeights<Weights>) {
      if (!implicit_) return marginloom::project(entries, w);
    }
    return {dot_implicit(*task_, i, sets_[i].output(member), w), w.extra_curvature_bound(member.squared_norm)};
  }

  // w += step * d.
  template <class Weights>
  void add(std::size_t i, const WorkingSet::Member& member, std::span<const Entry> entries, double step,
           const Weights& w) const {
    if constexpr (SingleWeights<Weights>) {
      if (!implicit_) return add_scaled(entries, step, w);
    }
    add_implicit(*task_, i, sets_[i].output(member), step, w);
  }

  // The same for a member that was sent.
  template <class Weights>
  [[nodiscard]] Projection project(std::size_t i, const SentBlock::Member& member, const Weights& w) const {
    if (!implicit_) return marginloom::project(member.difference, w);
    return {dot_implicit(*task_, i, member.output, w), w.extra_curvature_bound(member.squared_norm)};
  }
  template <class Weights>
  void add(std::size_t i, const SentBlock::Member& member, double step, const Weights& w) const {
    if (implicit_) {
      add_implicit(*task_, i, member.output, step, w);
    } else {
      add_scaled(member.difference, step, w);
    }
  }

  // w.d of all members that have been gathered.
  template <class Weights>
  void project_all(std::size_t i, const BlockWorkspace& work, const Weights& w, std::span<double> dots) const {
    if (implicit_) return dot_all_implicit(*task_, i, work.outputs, w, dots);
    if constexpr (SingleWeights<Weights>) {
      for (std::size_t j = 0; j < dots.size(); ++j) dots[j] = marginloom::project(work.differences[j], w).dot;
    }
  }

  // w += sum of the workspace's steps times d.
  template <class Weights>
  void add_all(std::size_t i, const BlockWorkspace& work, const Weights& w) const {
    if (implicit_) return add_all_implicit(*task_, i, work.outputs, work.steps, w);
    if constexpr (SingleWeights<Weights>) {
      for (std::size_t j = 0; j < work.steps.size(); ++j) {
        if (work.steps[j] != 0) add_scaled(work.differences[j], work.steps[j], w);
      }
    }
  }

  // Fetches the memory of blocks that come soon: first where it is, some blocks later the memory itself.
  void prefetch(std::span<const std::size_t> coming, bool inputs) const {
    constexpr std::size_t near = 3;
    constexpr std::size_t far = 8;
    if (coming.size() > far) prefetch_bytes(&sets_[coming[far]], sizeof(WorkingSet));
    if (coming.size() <= near) return;
    sets_[coming[near]].prefetch();
    if (implicit_ && inputs) task_->prefetch(coming[near]);
  }

  void write_weights(std::span<double> w) const;  // w = sum of dual * difference
  [[nodiscard]] std::size_t active() const;
  [[nodiscard]] std::size_t memory() const { return std::atomic_ref(held_).load(std::memory_order_relaxed); }

  // The duals with the outputs they belong to, and blocks made of them: every candidate is rebuilt through the task.
  // Outputs that the task does not allow, and those that no longer differ from gold in loss or features, are left out.
  [[nodiscard]] StateArrays export_state() const;
  [[nodiscard]] DualBlocks imported(const StateArrays& state) const;

 private:
  [[nodiscard]] bool has_room(std::size_t bytes, std::size_t limit) const {
    const std::size_t held = memory();
    return held < limit && bytes <= limit - held;
  }
  // What stays free below the budget when differences are stored again or trimmed is for new candidates.
  [[nodiscard]] std::size_t refill_limit() const { return budget_ - budget_ / 8; }
  [[nodiscard]] std::span<const Entry> rebuilt(std::size_t i, const WorkingSet::Member& member,
                                               std::unique_ptr<Scratch>& scratch) const;
  [[nodiscard]] double implicit_product(std::size_t i, const WorkingSet::Member& first,
                                        const WorkingSet::Member& second, std::vector<double>& spread) const;
  void store(std::size_t i, WorkingSet::Member& member, std::span<const Entry> entries);
  template <class Change>
  void change(WorkingSet& set, Change make);

  std::shared_ptr<const Task> task_;
  bool implicit_;
  std::size_t budget_;
  std::vector<WorkingSet> sets_;
  mutable std::size_t held_;  // bytes; threads that work on different blocks change it atomically
  std::size_t hand_ = 0;      // the block that trim() comes to next
};

}  // namespace marginloom
