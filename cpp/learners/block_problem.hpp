// The dual of the structured SVM over working sets, one block per example, for both losses: what DCD, the n-slack
// cutting planes and FSMO share. With d_iy = phi(x_i, y_i) - phi(x_i, y) and w = sum a_iy d_iy:
//
//   hinge           max_{a >= 0, sum_y a_iy <= C_i}  sum a_iy loss_iy - 1/2 |w|^2
//   squared hinge   max_{a >= 0}                     sum a_iy loss_iy - 1/2 |w|^2 - sum_i (sum_y a_iy)^2 / (4 C_i)
//
// A block of the squared hinge is improved variable by variable (dcd-ssvm-2013, Algorithm 1):
//   g = loss_iy - w.d_iy - sum_y' a_iy' / (2 C_i),  h = |d_iy|^2 + 1 / (2 C_i),  a_iy <- max(a_iy + g / h, 0)
// The newest candidate comes first, the others in random order. For the hinge the bound on the sum couples the
// variables of a block, and steps of one variable get stuck on it; there the block is solved as a whole on the Gram
// matrix of its differences (SimplexQp). Where the task knows that all products of an example's differences are alike,
// blocks of both losses are solved to their maximum at once, in closed form. Candidates whose dual ends at 0 are
// dropped.
//
// A block's slack is the violation that its working set already accounts for: sum_y a_iy / (2 C_i) for the squared
// hinge; for the hinge the largest violation within the set if the budget C_i is used up, else 0. A candidate is worth
// absorbing if its violation exceeds the slack by a threshold t. If none does and every block is solved,
// primal - dual <= sum_i C_i (l(slack_i + t) - l(slack_i)), so t follows the gap down: it is the value for which that
// sum is a tenth of the gap last seen, and never more than what was asked for.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/loss.hpp"
#include "core/prefetch.hpp"
#include "learners/dual_blocks.hpp"
#include "learners/learner.hpp"

namespace marginloom {

class BlockProblem {
 public:
  struct Step {
    double gain = 0;      // in the dual
    double residual = 0;  // how far from optimal the block was before, in units of violation
    bool idle = false;    // some duals of the block are 0 now
  };

  // `costs` are the C_i; examples with a cost of 0 are never to be visited.
  BlockProblem(std::shared_ptr<const Task> task, const std::vector<double>& costs, Loss loss, double threshold,
               std::size_t memory);

  [[nodiscard]] DualBlocks& blocks() { return blocks_; }
  [[nodiscard]] const DualBlocks& blocks() const { return blocks_; }
  [[nodiscard]] Loss loss() const { return loss_; }
  [[nodiscard]] double cost(std::size_t i) const { return accounts_[i].cost; }
  // These two may be read while another thread improves the block.
  [[nodiscard]] double slack(std::size_t i) const {
    return std::atomic_ref(accounts_[i].slack).load(std::memory_order_relaxed);
  }
  [[nodiscard]] double threshold() const { return threshold_; }

  // Improves the block of example i and the weights. A block whose residual is within the tolerance may be left alone.
  template <class Weights>
  Step improve(std::size_t i, const Weights& w, Lane& lane, double tolerance) {
    const Step step = update(i, w, lane, tolerance);
    if (step.idle) blocks_.drop_zero_duals(i);
    return step;
  }

  // See DualLearner.
  void prefetch(std::span<const std::size_t> coming, bool inputs) const {
    constexpr std::size_t near = 4;
    blocks_.prefetch(coming, inputs);
    if (coming.size() <= near) return;
    prefetch_line(&accounts_[coming[near]]);
  }
  bool send(std::size_t i, WeightView w, double least_gain, Lane& lane, double tolerance, SentBlock& sent);
  double improve_sent(std::size_t i, SentBlock& sent, const LoggedWeights& w, Lane& lane, double tolerance);
  void take_back(std::size_t i, const SentBlock& sent);

  // Improves the blocks of these examples until every residual is within the tolerance, or enough(gain of a sweep) says
  // so. A sweep visits the blocks that were not yet optimal in the one before; when none is left, one more visits all,
  // since w has moved. Candidates are dropped at the end only: a dual that is 0 on the way may rise again.
  template <class Weights, class Enough>
  double solve(std::span<const std::size_t> examples, const Weights& w, Lane& lane, double tolerance, Enough enough);

  // Sets the duals of example i's candidates; true if some are 0.
  bool set_duals(std::size_t i, std::span<const double> duals);

  // Takes over what was done to the duals of example i, given the largest violation among its candidates.
  void refresh(std::size_t i, double largest_violation);

  void note_gap(double primal, double dual);
  [[nodiscard]] double dual(double squared_norm) const;
  [[nodiscard]] double weighted_loss() const;  // sum of dual * loss
  [[nodiscard]] StateArrays export_state() const;
  // False if the duals are not those of the state: beyond the bounds that the costs set here they are scaled down, and
  // those of outputs that the task does not allow are dropped.
  bool import_state(const StateArrays& state);

 private:
  // The squared hinge has no budget, and a ridge on the square of the sum instead.
  [[nodiscard]] double budget(std::size_t i) const {
    return loss_ == Loss::hinge ? accounts_[i].cost : SimplexQp::no_budget;
  }
  [[nodiscard]] double ridge(std::size_t i) const { return loss_ == Loss::hinge ? 0 : 1 / (2 * accounts_[i].cost); }
  void count_duals(std::size_t i) { accounts_[i].sums = blocks_[i].sums(); }
  void set_slack(std::size_t i, double slack) {
    std::atomic_ref(accounts_[i].slack).store(slack, std::memory_order_relaxed);
  }
  // improve(), but nothing is dropped.
  template <class Weights>
  Step update(std::size_t i, const Weights& w, Lane& lane, double tolerance) {
    if (blocks_[i].empty()) {
      set_slack(i, 0);
      return {};
    }
    if (const auto uniform = uniform_products(i)) return solve_block(i, w, lane, tolerance, &*uniform);
    return loss_ == Loss::hinge ? solve_block(i, w, lane, tolerance, nullptr) : sweep_block(i, w, lane);
  }
  template <class Weights>
  Step sweep_block(std::size_t i, const Weights& w, Lane& lane);
  // What is alike in all products of a block, if it can be solved by that.
  [[nodiscard]] std::optional<UniformProducts> uniform_products(std::size_t i) const {
    const auto products = blocks_.task().uniform_products(i);
    return products && products->own > products->shared ? products : std::nullopt;
  }
  [[nodiscard]] bool solved_as_a_whole(std::size_t i) const { return loss_ == Loss::hinge || uniform_products(i); }
  [[nodiscard]] bool worth_solving(std::size_t i, WeightView w, double least_gain, Lane& lane, double tolerance,
                                   SentBlock& sent);
  [[nodiscard]] double solve_programme(std::size_t i, BlockWorkspace& work,
                                       const std::optional<UniformProducts>& uniform, double tolerance) const;
  [[nodiscard]] std::size_t choose_members(std::size_t i, WeightView w, double least_gain, Lane& lane);
  double sweep_sent(std::size_t i, SentBlock& sent, const LoggedWeights& w, Lane& lane) const;
  double solve_sent(std::size_t i, SentBlock& sent, const LoggedWeights& w, Lane& lane, double tolerance) const;

  // What is known of a block without a look at it; half a cache line.
  struct alignas(32) Account {
    double cost = 0;
    WorkingSet::Sums sums;
    mutable double slack = 0;  // mutable for atomic loads
  };
  // A step of one variable of the squared hinge.
  struct Move {
    double dual;  // after it
    double gain;
    double gradient;
  };
  template <class Member>
  [[nodiscard]] static Move best_move(const Member& member, const Projection& projection, double sum, double ridge) {
    const double gradient = member.loss - projection.dot - ridge * sum;
    const double curvature = member.squared_norm + projection.extra_curvature + ridge;
    const double dual = std::max(member.dual + gradient / curvature, 0.0);
    const double step = dual - member.dual;
    return {dual, step * (gradient - step * curvature / 2), gradient};
  }
  // Lays out the duals, violations and differences of a block in the lane's workspace; returns the residual.
  template <class Weights>
  double look_at_block(std::size_t i, const Weights& w, Lane& lane);
  template <class Weights>
  Step solve_block(std::size_t i, const Weights& w, Lane& lane, double tolerance, const UniformProducts* uniform);

  DualBlocks blocks_;
  std::vector<Account> accounts_;
  Loss loss_;
  double asked_threshold_;
  double threshold_;
};

}  // namespace marginloom

#include "learners/block_steps.hpp"  // IWYU pragma: export
