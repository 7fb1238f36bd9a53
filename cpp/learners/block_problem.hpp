// The dual of the structured SVM over blocks, one per example, for both losses: what DCD, the n-slack cutting planes
// and FSMO share. With d_iy = phi(x_i, y_i) - phi(x_i, y) and w = sum a_iy d_iy:
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
// A block's slack is the violation that its candidates already account for: sum_y a_iy / (2 C_i) for the squared
// hinge; for the hinge the largest violation within the block if the budget C_i is used up, else 0. A candidate is
// worth absorbing if its violation exceeds the slack by a threshold t. If none does and every block is solved,
// primal - dual <= sum_i C_i (l(slack_i + t) - l(slack_i)), so t follows the gap down: it is the value for which that
// sum is a tenth of the gap last seen, and never more than what was asked for.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/loss.hpp"
#include "learners/block_learner.hpp"
#include "learners/blocks.hpp"

namespace marginloom {

// Base of the learners whose dual this is.
class BlockProblem : public BlockLearner {
 public:
  // Which products of their candidates blocks keep: those of explicit differences, which make a second step in a visit
  // cheap but must be computed for every new candidate; and those of implicit ones also where they are all alike.
  struct Products {
    bool of_rows = false;
    bool alike = false;
  };

  // Examples with a cost of 0 are never to be visited.
  BlockProblem(Objective objective, double threshold, std::size_t memory, Products products);

  // These two may be read while another thread improves the block.
  [[nodiscard]] double slack(std::size_t i) const {
    return std::atomic_ref(accounts_[i].slack).load(std::memory_order_relaxed);
  }
  [[nodiscard]] double threshold() const { return threshold_; }

  FindOptions search(std::size_t i) const override { return {.min_violation = slack(i) + threshold_}; }
  Step solve(std::size_t i, Visit& visit) const override;
  void settle(std::size_t i, std::span<const double> duals, const Step& step, bool may_drop) override;
  void note_gap(double primal, double dual) override;
  double dual(double squared_norm) const override;
  StateArrays export_state() const override;
  void import_state(const StateArrays& state) override;
  StateArrays merged(const StateArrays& first, const StateArrays& second) const override;

 protected:
  [[nodiscard]] BlockTerms terms(std::size_t i) const {
    if (loss() == Loss::hinge) return {.budget = cost(i)};
    return {.ridge = 1 / (2 * cost(i))};  // the squared hinge has no budget, and a ridge on the square of the sum
  }
  // How many candidates a search brings at most, if so many are asked for; 0 leaves it open. Where many cost little
  // more than one, the most violated of them let blocks do with fewer searches; far more would fill the blocks of a
  // thousand classes with candidates of which few get a dual.
  [[nodiscard]] int at_once(int asked) const {
    constexpr int many = 32;
    if (asked > 0) return asked;
    return task().capabilities().lists_outputs ? many : 1;
  }
  // The residual with which a block counts as solved.
  [[nodiscard]] virtual double tolerance() const { return threshold_ / 2; }
  [[nodiscard]] double weighted_loss() const;  // sum of dual * loss
  // Takes over what was done to the duals of example i, given the largest violation among its candidates.
  void refresh(std::size_t i, double largest_violation);
  // False if the duals are not those of the state: beyond the bounds that the costs set here they are scaled down, and
  // those of outputs that the task does not allow, or of examples that do not count here, are dropped.
  bool import_blocks(const StateArrays& state);
  void prefetch_example(std::size_t i) const override {
    BlockLearner::prefetch_example(i);
    prefetch_line(&accounts_[i]);
  }

  int sweeps_ = 1;  // of a visit over the candidates of its block, at most, where they are improved one by one

 private:
  // The slacks of the examples here as a state has them.
  [[nodiscard]] std::vector<double> slacks_in(const StateArrays& state) const;
  // What is alike in all products of a block, if it can be solved by that.
  [[nodiscard]] std::optional<UniformProducts> uniform_products(std::size_t i) const {
    if (!task().implicit()) return std::nullopt;
    const auto products = task().implicit()->uniform_products(i);
    return products && products->excess > 0 ? products : std::nullopt;
  }
  void set_slack(std::size_t i, double slack) {
    std::atomic_ref(accounts_[i].slack).store(slack, std::memory_order_relaxed);
  }

  // What is known of a block without a look at it.
  struct Account {
    Block::Sums sums;
    mutable double slack = 0;  // mutable for atomic loads
  };

  std::vector<Account> accounts_;
  double asked_threshold_;
  double threshold_;
};

}  // namespace marginloom
