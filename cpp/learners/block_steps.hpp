// How a block, or many of them, is improved: the steps of BlockProblem, written once for all ways to hold the weights.
// Included by block_problem.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "learners/block_problem.hpp"

namespace marginloom {

template <class Weights>
BlockProblem::Step BlockProblem::sweep_block(std::size_t i, const Weights& w, Lane& lane) {
  WorkingSet& block = blocks_[i];
  const double ridge = 1 / (2 * accounts_[i].cost);
  double sum = accounts_[i].sums.duals;
  Step result;
  lane.random.shuffle(block.members().subspan(1));
  for (auto& member : block.members()) {
    const auto entries = blocks_.entries(i, member, lane.scratch);
    const Move move = best_move(member, blocks_.project(i, member, entries, w), sum, ridge);
    const double step = move.dual - member.dual;
    if (step != 0) {
      blocks_.add(i, member, entries, step, w);
      result.gain += move.gain;
      result.residual = std::max(result.residual, std::abs(move.gradient));
      sum += step;
      member.dual = move.dual;
      ++lane.updates;
    }
    result.idle |= move.dual == 0;
    blocks_.keep(i, member, entries);
  }
  count_duals(i);
  set_slack(i, accounts_[i].sums.duals / (2 * accounts_[i].cost));
  return result;
}

template <class Weights>
double BlockProblem::look_at_block(std::size_t i, const Weights& w, Lane& lane) {
  WorkingSet& block = blocks_[i];
  BlockWorkspace& work = lane.block;
  const std::size_t size = block.size();
  blocks_.gather(i, work, lane.scratch);
  work.duals.resize(size);
  work.gradient.resize(size);
  work.steps.resize(size);
  blocks_.project_all(i, work, w, work.gradient);
  for (std::size_t j = 0; j < size; ++j) {
    const auto& member = block.members()[j];
    work.duals[j] = member.dual;
    work.gradient[j] = member.loss - work.gradient[j] - ridge(i) * accounts_[i].sums.duals;
  }
  return SimplexQp::residual(work.duals, work.gradient, budget(i));
}

template <class Weights>
BlockProblem::Step BlockProblem::solve_block(std::size_t i, const Weights& w, Lane& lane, double tolerance,
                                             const UniformProducts* uniform) {
  WorkingSet& block = blocks_[i];
  BlockWorkspace& work = lane.block;
  const double budget = this->budget(i);
  const double ridge = this->ridge(i);
  const std::size_t size = block.size();
  Step result{.residual = look_at_block(i, w, lane)};
  if (result.residual > tolerance) {
    // Other threads move the hot weights too; counting the curvature so many times keeps the sum of all steps safe.
    const double caution = 1 + w.extra_curvature_bound(1);
    if (uniform) {
      result.gain = work.qp.solve_uniform(work.duals, work.gradient, budget, caution * uniform->own + ridge,
                                          caution * uniform->shared + ridge);
    } else {
      blocks_.fill_products(i, work, caution);
      result.gain = work.qp.solve(work.duals, work.gradient, budget, tolerance / 8, 100 + 20 * size).gain;
    }
    if (result.gain < lane.least_gain) {
      lane.foregone = std::exchange(result.gain, 0);
      return result;
    }
    for (std::size_t j = 0; j < size; ++j) {
      work.steps[j] = work.duals[j] - block.members()[j].dual;
      lane.updates += work.steps[j] != 0 ? 1 : 0;
    }
    blocks_.add_all(i, work, w);
  }
  const double largest = *std::ranges::max_element(work.gradient);
  result.idle = set_duals(i, work.duals);
  refresh(i, largest);
  return result;
}

template <class Weights, class Enough>
double BlockProblem::solve(std::span<const std::size_t> examples, const Weights& w, Lane& lane, double tolerance,
                           Enough enough) {
  constexpr int most_sweeps = 100'000;  // far more than it takes; the gap tells if it was too few
  std::vector<std::size_t>& unsolved = lane.unsolved;
  const auto has_candidates = [&](std::size_t i) { return !blocks_[i].empty(); };
  double gain = 0;
  unsolved.clear();
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    const bool all = unsolved.empty();
    if (all) std::ranges::copy_if(examples, std::back_inserter(unsolved), has_candidates);
    lane.random.shuffle(std::span(unsolved));
    std::size_t left = 0;
    double gain_of_sweep = 0;
    for (std::size_t j = 0; j < unsolved.size(); ++j) {
      if (j % 64 == 0 && lane.stop && lane.stop->stopped()) return gain;
      blocks_.prefetch(std::span(unsolved).subspan(j + 1), true);
      const Step step = update(unsolved[j], w, lane, tolerance);
      gain_of_sweep += step.gain;
      if (step.residual > tolerance) unsolved[left++] = unsolved[j];
    }
    gain += gain_of_sweep;
    unsolved.resize(left);
    if ((all && left == 0) || enough(gain_of_sweep)) break;
  }
  for (const std::size_t i : examples) {
    const auto zero = [](const WorkingSet::Member& member) { return member.dual == 0; };
    if (std::ranges::any_of(blocks_[i].members(), zero)) blocks_.drop_zero_duals(i);
  }
  return gain;
}

}  // namespace marginloom
