#include "learners/block_problem.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include "learners/decision_chains.hpp"

namespace marginloom {
namespace {

// Blocks of tasks whose products are all alike are solved without knowing them, and those of others are not.
bool needs_products(const Task& task, BlockProblem::Products asked) {
  const ImplicitDifferences* const implicit = task.implicit();
  if (!implicit) return asked.of_rows;
  if (asked.alike || task.size() == 0 || !task.capabilities().gold) return true;
  return !implicit->uniform_products(0).has_value();
}

}  // namespace

BlockProblem::BlockProblem(Objective objective, double threshold, std::size_t memory, Products products)
    : BlockLearner(std::move(objective), memory, needs_products(*objective.task, products)),
      accounts_(blocks_.size()),
      asked_threshold_(threshold),
      threshold_(threshold) {}

Step BlockProblem::solve(std::size_t i, Visit& visit) const {
  const auto uniform = uniform_products(i);
  // Inputs without features have nothing that is alike, nor do their blocks keep products.
  const bool has_coordinates = visit.open.block->has_support() || visit.open.block->has_products();
  if (!uniform && has_coordinates && loss() == Loss::squared_hinge) return sweep(terms(i), sweeps_, visit);
  const double residual = visit.asked.tolerance > 0 ? visit.asked.tolerance : tolerance();
  return solve_exactly(task(), i, terms(i), residual, uniform ? &*uniform : nullptr, visit);
}

void BlockProblem::settle(std::size_t i, std::span<const double> duals, const Step& step, bool may_drop) {
  Block& block = blocks_[i];
  const auto rows = block.rows();
  bool idle = false;
  for (std::size_t j = 0; j < rows.size(); ++j) {
    rows[j].dual = duals[j];
    idle |= duals[j] == 0;
  }
  refresh(i, step.largest_violation);
  if (idle && may_drop) blocks_.drop_zero_duals(i);
}

void BlockProblem::refresh(std::size_t i, double largest_violation) {
  constexpr double used_up = 1 - 1e-9;
  accounts_[i].sums = blocks_[i].sums();
  const double sum = accounts_[i].sums.duals;
  if (loss() == Loss::squared_hinge) {
    set_slack(i, sum / (2 * cost(i)));
  } else {
    set_slack(i, sum >= used_up * cost(i) ? std::max(largest_violation, 0.0) : 0.0);
  }
}

void BlockProblem::note_gap(double primal, double dual) {
  constexpr double share = 0.1;
  const double allowed = share * std::max(primal - dual, 0.0);
  double cost_sum = 0;
  double slack_sum = 0;  // sum_i C_i l'(slack_i) / 2
  for (std::size_t i = 0; i < accounts_.size(); ++i) {
    cost_sum += cost(i);
    slack_sum += accounts_[i].sums.duals / 2;
  }
  // Hinge: sum C t = allowed. Squared: sum C (2 s t + t^2) = allowed, the positive root.
  const double root =
      loss() == Loss::hinge ? cost_sum : slack_sum + std::sqrt(slack_sum * slack_sum + cost_sum * allowed);
  const double least = 1e-9 * asked_threshold_;  // below it is rounding
  threshold_ = root > 0 ? std::clamp(allowed / root, least, asked_threshold_) : asked_threshold_;
}

double BlockProblem::dual(double squared_norm) const {
  double ridge = 0;
  if (loss() == Loss::squared_hinge) {
    for (std::size_t i = 0; i < accounts_.size(); ++i) {
      const double sum = accounts_[i].sums.duals;
      if (sum > 0) ridge += sum * sum / (4 * cost(i));
    }
  }
  return weighted_loss() - squared_norm / 2 - ridge;
}

double BlockProblem::weighted_loss() const {
  double result = 0;
  for (const Account& account : accounts_) result += account.sums.losses;
  return result;
}

StateArrays BlockProblem::export_state() const {
  StateArrays state = blocks_.export_state(ids());
  ids().add_to(state);
  state["block_threshold"] = std::vector<double>{threshold_};
  std::vector<double> slacks;
  for (const Account& account : accounts_) slacks.push_back(account.slack);
  state["block_slacks"] = std::move(slacks);
  return state;
}

void BlockProblem::import_state(const StateArrays& state) {
  (void)import_blocks(state);
}

// Without candidates there is nothing that accounts for a slack.
std::vector<double> BlockProblem::slacks_in(const StateArrays& state) const {
  const auto& saved = state_array<double>(state, "block_slacks");
  const auto places = ids().places_in(state, saved.size());
  std::vector<double> slacks(accounts_.size());
  for (std::size_t j = 0; j < saved.size(); ++j) {
    if (!(saved[j] >= 0) || !std::isfinite(saved[j]))
      throw std::invalid_argument("'block_slacks' of the state is broken");
    if (places[j]) slacks[*places[j]] = saved[j];
  }
  std::vector<bool> had_duals(accounts_.size());
  for (const std::uint64_t id : state_array<std::uint64_t>(state, "dual_examples")) {
    if (const auto i = ids().place(id)) had_duals[*i] = true;
  }
  for (std::size_t i = 0; i < slacks.size(); ++i) {
    if (slacks[i] > 0 && !had_duals[i]) throw std::invalid_argument("'block_slacks' of the state is broken");
  }
  return slacks;
}

// The threshold of a union is the larger one: what is below it in its part may be found again.
StateArrays BlockProblem::merged(const StateArrays& first, const StateArrays& second) const {
  StateArrays state = Blocks::merged(first, second);
  const auto examples_of = [](const StateArrays& one) {
    return ExampleIds::held_by(one, state_array<double>(one, "block_slacks").size());
  };
  std::vector<std::uint64_t> examples = examples_of(first);
  const auto more = examples_of(second);
  examples.insert(examples.end(), more.begin(), more.end());
  std::unordered_set<std::uint64_t> distinct(examples.begin(), examples.end());
  if (distinct.size() != examples.size()) throw std::invalid_argument("an example is in both of the states");
  const auto thresholds = concatenated<double>(first, second, "block_threshold");
  state["examples"] = std::move(examples);
  state["block_slacks"] = concatenated<double>(first, second, "block_slacks");
  state["block_threshold"] = std::vector<double>{std::ranges::max(thresholds)};
  return state;
}

bool BlockProblem::import_blocks(const StateArrays& state) {
  if (has_decisions(state)) return import_blocks(with_chains(task(), state));
  const auto& threshold = state_array<double>(state, "block_threshold");
  if (threshold.size() != 1 || !(threshold[0] >= 0)) {
    throw std::invalid_argument("'block_threshold' of the state is broken");
  }
  const std::vector<double> slacks = slacks_in(state);
  Blocks blocks = blocks_.imported(state, ids());
  std::vector<Block::Sums> sums(accounts_.size());
  bool as_saved = blocks.active() == state_array<std::uint64_t>(state, "dual_examples").size();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i] = blocks[i].sums();
    if (cost(i) == 0 && !blocks[i].empty()) {
      blocks.keep_first(i, 0);
      sums[i] = {};
      as_saved = false;
    } else if (loss() == Loss::hinge &&
               sums[i].duals > cost(i) * (1 + 1e-9)) {  // of a larger C: the same ray, as far as allowed
      for (Block::Row& row : blocks[i].rows()) row.dual *= cost(i) / sums[i].duals;
      sums[i] = blocks[i].sums();
      as_saved = false;
    }
  }
  blocks_ = std::move(blocks);
  for (std::size_t i = 0; i < accounts_.size(); ++i) {
    Account& account = accounts_[i];
    account.sums = sums[i];
    account.slack = blocks_[i].empty() ? 0 : slacks[i];
    if (loss() == Loss::squared_hinge) account.slack = cost(i) > 0 ? sums[i].duals / (2 * cost(i)) : 0;
  }
  threshold_ = std::min(threshold[0], asked_threshold_);
  return as_saved;
}

}  // namespace marginloom
