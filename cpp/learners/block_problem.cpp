#include "learners/block_problem.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace marginloom {
namespace {

constexpr double mean_forgetting = 1e-4;  // of the mean gain, for every step that was tried

}  // namespace

BlockProblem::BlockProblem(std::shared_ptr<const Task> task, const std::vector<double>& costs, Loss loss,
                           double threshold, std::size_t memory)
    : blocks_(std::move(task), memory),
      accounts_(blocks_.size()),
      loss_(loss),
      asked_threshold_(threshold),
      threshold_(threshold) {
  if (costs.size() != blocks_.size()) throw std::invalid_argument("one cost per example is needed");
  for (std::size_t i = 0; i < costs.size(); ++i) accounts_[i].cost = costs[i];
}

bool BlockProblem::set_duals(std::size_t i, std::span<const double> duals) {
  bool idle = false;
  const auto members = blocks_[i].members();
  for (std::size_t j = 0; j < members.size(); ++j) {
    members[j].dual = duals[j];
    idle |= duals[j] == 0;
  }
  return idle;
}

bool BlockProblem::send(std::size_t i, WeightView weights, double least_gain, Lane& lane, double tolerance,
                        SentBlock& sent) {
  WorkingSet& block = blocks_[i];
  sent.clear();
  if (block.empty()) {
    set_slack(i, 0);
    return false;
  }
  std::size_t count = block.size();
  if (solved_as_a_whole(i)) {
    if (!worth_solving(i, weights, least_gain, lane, tolerance, sent)) count = 0;
  } else {
    lane.random.shuffle(block.members().subspan(1));
    if (least_gain > 0 && !blocks_.implicit()) count = choose_members(i, weights, least_gain, lane);
  }
  for (const auto& member : block.members().first(count)) {
    sent.add(member, blocks_.entries(i, member, lane.scratch), blocks_.implicit() ? block.output(member) : ByteView());
  }
  sent.dual_sum = accounts_[i].sums.duals;
  if (count == 0 && block.has_zero_duals()) blocks_.drop_zero_duals(i);
  return count > 0;
}

// Solves the block on these weights, changing nothing, to see what it would gain; notes the products that the solution
// needs.
bool BlockProblem::worth_solving(std::size_t i, WeightView weights, double least_gain, Lane& lane, double tolerance,
                                 SentBlock& sent) {
  BlockWorkspace& work = lane.block;
  const PlainWeights w{const_cast<double*>(weights.data())};  // only read
  const double residual = look_at_block(i, w, lane);
  refresh(i, *std::ranges::max_element(work.gradient));
  if (residual <= tolerance) return false;
  const auto uniform = uniform_products(i);
  const std::size_t size = work.duals.size();
  if (!uniform) {
    blocks_.fill_products(i, work, 1);
    for (std::size_t j = 0; j < size; ++j) {
      for (std::size_t k = 0; k < size; ++k) sent.products.push_back(work.qp.product(j, k));
    }
  }
  if (least_gain == 0) return true;
  const double gain = solve_programme(i, work, uniform, tolerance);
  lane.mean_gain += mean_forgetting * (gain - lane.mean_gain);
  return gain >= least_gain * lane.mean_gain;
}

// Moves the members with a step worth taking to the front and counts them. Steps of one block overlap, so each is tried
// after those before it.
std::size_t BlockProblem::choose_members(std::size_t i, WeightView weights, double least_gain, Lane& lane) {
  lane.overlay.clear();
  const TriedWeights w{weights, &lane.overlay};
  const auto members = blocks_[i].members();
  const double ridge = 1 / (2 * accounts_[i].cost);
  double sum = accounts_[i].sums.duals;
  std::size_t chosen = 0;
  for (std::size_t j = 0; j < members.size(); ++j) {
    const auto entries = blocks_.entries(i, members[j], lane.scratch);
    const Move move = best_move(members[j], project(entries, w), sum, ridge);
    const double step = move.dual - members[j].dual;
    lane.mean_gain += mean_forgetting * (move.gain - lane.mean_gain);
    if (step == 0 || move.gain < least_gain * lane.mean_gain) continue;
    add_scaled(entries, step, w);
    sum += step;
    std::swap(members[chosen++], members[j]);
  }
  return chosen;
}

double BlockProblem::improve_sent(std::size_t i, SentBlock& sent, const LoggedWeights& w, Lane& lane,
                                  double tolerance) {
  return solved_as_a_whole(i) ? solve_sent(i, sent, w, lane, tolerance) : sweep_sent(i, sent, w, lane);
}

double BlockProblem::sweep_sent(std::size_t i, SentBlock& sent, const LoggedWeights& w, Lane& lane) const {
  const double ridge = 1 / (2 * accounts_[i].cost);
  double sum = sent.dual_sum;
  double gain = 0;
  for (std::size_t j = 0; j < sent.size(); ++j) {
    const SentBlock::Member member = sent[j];
    const Move move = best_move(member, blocks_.project(i, member, w), sum, ridge);
    const double step = move.dual - member.dual;
    if (step == 0) continue;
    blocks_.add(i, member, step, w);
    gain += move.gain;
    sum += step;
    sent.set_dual(j, move.dual);
    ++lane.updates;
  }
  return gain;
}

double BlockProblem::solve_sent(std::size_t i, SentBlock& sent, const LoggedWeights& w, Lane& lane,
                                double tolerance) const {
  BlockWorkspace& work = lane.block;
  const std::size_t size = sent.size();
  const auto uniform = uniform_products(i);
  sent.lay_out(work);
  work.gradient.resize(size);
  work.steps.resize(size);
  blocks_.project_all(i, work, w, work.gradient);
  for (std::size_t j = 0; j < size; ++j) {
    work.gradient[j] = sent[j].loss - work.gradient[j] - ridge(i) * sent.dual_sum;
  }
  double gain = 0;
  if (SimplexQp::residual(work.duals, work.gradient, budget(i)) > tolerance) {
    if (!uniform) {
      work.qp.reset(size);
      for (std::size_t j = 0; j < size; ++j) {
        for (std::size_t k = 0; k < size; ++k) work.qp.product(j, k) = sent.products[j * size + k];
      }
    }
    gain = solve_programme(i, work, uniform, tolerance);
    for (std::size_t j = 0; j < size; ++j) {
      work.steps[j] = work.duals[j] - sent.dual(j);
      lane.updates += work.steps[j] != 0 ? 1 : 0;
      sent.set_dual(j, work.duals[j]);
    }
    blocks_.add_all(i, work, w);
  }
  sent.largest_violation = *std::ranges::max_element(work.gradient);
  return gain;
}

// The maximum over the duals of the workspace, whose gradient is known; `uniform` or the products of the programme.
double BlockProblem::solve_programme(std::size_t i, BlockWorkspace& work, const std::optional<UniformProducts>& uniform,
                                     double tolerance) const {
  if (uniform) {
    return work.qp.solve_uniform(work.duals, work.gradient, budget(i), uniform->own + ridge(i),
                                 uniform->shared + ridge(i));
  }
  return work.qp.solve(work.duals, work.gradient, budget(i), tolerance / 8, 100 + 20 * work.duals.size()).gain;
}

void BlockProblem::take_back(std::size_t i, const SentBlock& sent) {
  const auto members = blocks_[i].members();
  for (std::size_t j = 0; j < sent.size(); ++j) members[j].dual = sent.dual(j);
  refresh(i, sent.largest_violation);
  if (blocks_[i].has_zero_duals()) blocks_.drop_zero_duals(i);
}

void BlockProblem::refresh(std::size_t i, double largest_violation) {
  constexpr double used_up = 1 - 1e-9;
  count_duals(i);
  const double sum = accounts_[i].sums.duals;
  if (loss_ == Loss::squared_hinge) {
    set_slack(i, sum / (2 * accounts_[i].cost));
  } else {
    set_slack(i, sum >= used_up * accounts_[i].cost ? std::max(largest_violation, 0.0) : 0.0);
  }
}

void BlockProblem::note_gap(double primal, double dual) {
  constexpr double share = 0.1;
  const double allowed = share * std::max(primal - dual, 0.0);
  double cost_sum = 0;
  double slack_sum = 0;  // sum_i C_i l'(slack_i) / 2
  for (const Account& account : accounts_) {
    cost_sum += account.cost;
    slack_sum += account.sums.duals / 2;
  }
  // Hinge: sum C t = allowed. Squared: sum C (2 s t + t^2) = allowed, the positive root.
  const double root =
      loss_ == Loss::hinge ? cost_sum : slack_sum + std::sqrt(slack_sum * slack_sum + cost_sum * allowed);
  const double least = 1e-9 * asked_threshold_;  // below it is rounding
  threshold_ = root > 0 ? std::clamp(allowed / root, least, asked_threshold_) : asked_threshold_;
}

double BlockProblem::dual(double squared_norm) const {
  double ridge = 0;
  if (loss_ == Loss::squared_hinge) {
    for (const Account& account : accounts_) {
      const double sum = account.sums.duals;
      if (sum > 0) ridge += sum * sum / (4 * account.cost);
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
  StateArrays state = blocks_.export_state();
  state["block_threshold"] = std::vector<double>{threshold_};
  std::vector<double> slacks;
  for (const Account& account : accounts_) slacks.push_back(account.slack);
  state["block_slacks"] = std::move(slacks);
  return state;
}

bool BlockProblem::import_state(const StateArrays& state) {
  const auto& threshold = state_array<double>(state, "block_threshold");
  if (threshold.size() != 1 || !(threshold[0] >= 0)) {
    throw std::invalid_argument("'block_threshold' of the state is broken");
  }
  const auto& slacks = state_array<double>(state, "block_slacks");
  if (slacks.size() != accounts_.size() || !all_finite(slacks)) {
    throw std::invalid_argument("'block_slacks' of the state is broken");
  }
  DualBlocks blocks = blocks_.imported(state);
  const auto& examples = state_array<std::uint64_t>(state, "dual_examples");
  std::vector<bool> had_duals(accounts_.size());
  for (const std::uint64_t i : examples) had_duals[i] = true;
  std::vector<WorkingSet::Sums> sums(accounts_.size());
  bool as_saved = blocks.active() == examples.size();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (slacks[i] < 0 || (slacks[i] > 0 && !had_duals[i])) {
      throw std::invalid_argument("'block_slacks' of the state is broken");
    }
    sums[i] = blocks[i].sums();
    if (sums[i].duals > 0 && !(accounts_[i].cost > 0)) {
      throw std::invalid_argument("example " + std::to_string(i) + " has duals in the state but a weight of 0 here");
    }
    if (loss_ == Loss::hinge &&
        sums[i].duals > accounts_[i].cost * (1 + 1e-9)) {  // of a larger C: the same ray, as far as allowed
      for (auto& member : blocks[i].members()) member.dual *= accounts_[i].cost / sums[i].duals;
      sums[i] = blocks[i].sums();
      as_saved = false;
    }
  }
  blocks_ = std::move(blocks);
  for (std::size_t i = 0; i < accounts_.size(); ++i) {
    Account& account = accounts_[i];
    account.sums = sums[i];
    account.slack = blocks_[i].empty() ? 0 : slacks[i];
    if (loss_ == Loss::squared_hinge) account.slack = account.cost > 0 ? sums[i].duals / (2 * account.cost) : 0;
  }
  threshold_ = std::min(threshold[0], asked_threshold_);
  return as_saved;
}

}  // namespace marginloom
