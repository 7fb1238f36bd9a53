// Base of the learners whose dual is a BlockProblem.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "learners/block_problem.hpp"

namespace marginloom {

// Forwards what every learner with a BlockProblem answers alike. Derived has improve_block(), see DualLearnerBase.
template <class Derived>
class BlockLearner : public DualLearnerBase<Derived> {
 public:
  explicit BlockLearner(BlockProblem problem) : problem_(std::move(problem)) {}

  const Task& task() const override { return problem_.blocks().task(); }
  Loss loss() const override { return problem_.loss(); }
  double cost(std::size_t i) const override { return problem_.cost(i); }
  FindOptions search(std::size_t i) const override {
    return {.min_violation = problem_.slack(i) + problem_.threshold()};
  }
  void absorb(const Candidate& candidate) override { problem_.blocks().absorb(candidate); }
  bool has_candidates(std::size_t i) const override { return !problem_.blocks()[i].empty(); }
  void prefetch(std::span<const std::size_t> coming, bool inputs) const override { problem_.prefetch(coming, inputs); }
  void end_pass(const PlainWeights&, Lane&) override { problem_.blocks().trim(); }
  void note_gap(double primal, double dual) override { problem_.note_gap(primal, dual); }
  double dual(double squared_norm) const override { return problem_.dual(squared_norm); }
  void write_weights(std::span<double> w) const override { problem_.blocks().write_weights(w); }
  std::size_t active() const override { return problem_.blocks().active(); }
  std::size_t memory() const override { return problem_.blocks().memory(); }
  StateArrays export_state() const override { return problem_.export_state(); }
  void import_state(const StateArrays& state) override { problem_.import_state(state); }

 protected:
  BlockProblem problem_;
};

}  // namespace marginloom
