// Dual variables kept as one working set per example: what DCD and its relatives share.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/state.hpp"
#include "core/task.hpp"
#include "core/working_set.hpp"

namespace marginloom {

class DualBlocks {
 public:
  explicit DualBlocks(std::shared_ptr<const Task> task);

  [[nodiscard]] const Task& task() const { return *task_; }
  [[nodiscard]] std::size_t size() const { return sets_.size(); }
  [[nodiscard]] WorkingSet& operator[](std::size_t i) { return sets_[i]; }
  [[nodiscard]] const WorkingSet& operator[](std::size_t i) const { return sets_[i]; }

  // w.d and the policy's extra curvature, for the difference d of one member.
  template <class Weights>
  [[nodiscard]] Projection project(std::size_t i, const WorkingSet::Member& member, const Weights& w) const {
    if (!implicit_) return marginloom::project(sets_[i].difference(member), w);
    return {task_->dot(i, sets_[i].output(member), w), w.extra_curvature_bound(member.squared_norm)};
  }

  // w += step * d.
  template <class Weights>
  void add(std::size_t i, const WorkingSet::Member& member, double step, const Weights& w) const {
    if (implicit_) {
      task_->add(i, sets_[i].output(member), step, w);
    } else {
      add_scaled(sets_[i].difference(member), step, w);
    }
  }

  // Fetches the memory of blocks that come soon: first where it is, some blocks later the memory itself.
  void prefetch(std::span<const std::size_t> coming) const {
    constexpr std::size_t near = 3;
    constexpr std::size_t far = 8;
    if (coming.size() > far) __builtin_prefetch(&sets_[coming[far]]);
    if (coming.size() > near) sets_[coming[near]].prefetch();
  }

  void write_weights(std::span<double> w) const;  // w = sum of dual * difference
  [[nodiscard]] double weighted_loss() const;     // sum of dual * loss
  [[nodiscard]] std::size_t active() const;
  [[nodiscard]] std::size_t memory() const;

  // The duals with the outputs they belong to, and blocks made of them: every candidate is rebuilt through the task.
  [[nodiscard]] StateArrays export_state() const;
  [[nodiscard]] DualBlocks imported(const StateArrays& state) const;

 private:
  std::shared_ptr<const Task> task_;
  bool implicit_;
  std::vector<WorkingSet> sets_;
};

}  // namespace marginloom
