#include "learners/frank_wolfe.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace marginloom {
namespace {

bool same_up_to_rounding(double saved, double right) {
  return std::abs(saved - right) <= 1e-9 * std::max(std::abs(right), 1e-12);
}

bool same_up_to_rounding(const SparseSum& saved, const SparseSum& right) {
  double distance = 0;
  visit_both(saved, right, [&](WeightIndex, double x, double y) { distance += (x - y) * (x - y); });
  return distance <= 1e-12 * std::max(right.squared_norm, 1e-12);
}

}  // namespace

FrankWolfe::FrankWolfe(std::shared_ptr<const Task> task, std::vector<double> costs, Parameters parameters)
    : BlockLearner({std::move(task), std::move(costs), Loss::hinge, 0,
                    parameters.inner_passes > 0 ? parameters.memory : 0}),  // without a cache differences are used once
      parameters_(parameters),
      oracle_(problem_.blocks().size(), Oracle::none),
      sums_(problem_.blocks().size()),
      adder_(problem_.blocks().task().dimension()),
      late_(parameters.averaged ? problem_.blocks().task().dimension() : 0) {}

void FrankWolfe::absorb(const Candidate& candidate) {
  BlockLearner::absorb(candidate);
  oracle_[candidate.example] = Oracle::candidate;
  take_corner(candidate);  // the step usually follows at once
  corner_of_ = candidate.example;
}

void FrankWolfe::searched(std::size_t i, double) {
  if (oracle_[i] == Oracle::none) oracle_[i] = Oracle::gold;
}

void FrankWolfe::begin_pass() {
  std::ranges::fill(oracle_, Oracle::none);
  corner_of_ = gold;
  gap_of_pass_ = 0;
}

void FrankWolfe::end_pass(const PlainWeights& w, Lane& lane) {
  gap_of_last_pass_ = gap_of_pass_;
  BlockLearner::end_pass(w, lane);
}

void FrankWolfe::take_corner(std::size_t i, const WorkingSet::Member& member, Lane& lane) {
  const DualBlocks& blocks = problem_.blocks();
  Candidate candidate;
  candidate.example = i;
  candidate.output = blocks[i].output(member);
  candidate.implicit = task().capabilities().implicit;
  candidate.difference = blocks.entries(i, member, lane.scratch);
  take_corner(candidate);
}

void FrankWolfe::take_corner(const Candidate& candidate) {
  const double cost = problem_.cost(candidate.example);
  if (candidate.implicit) {
    adder_.add(task(), candidate, cost);
    adder_.take(corner_);
    return;
  }
  corner_.clear();
  for (const Entry& entry : candidate.difference) corner_.push_back(entry.index, cost * entry.value);
}

double FrankWolfe::move_duals(std::size_t i, std::size_t target, double gamma) {
  const auto members = problem_.blocks()[i].members();
  double loss_change = 0;
  bool faded = false;
  for (std::size_t j = 0; j < members.size(); ++j) {
    const double corner = j == target ? problem_.cost(i) : 0;
    double dual = gamma < 1 ? (1 - gamma) * members[j].dual + gamma * corner : corner;
    if (dual <= 1e-14 * problem_.cost(i)) dual = 0;  // beyond rounding of the rest, and blocks must not grow for ever
    loss_change += (dual - members[j].dual) * members[j].loss;
    members[j].dual = dual;
    faded |= dual == 0;
  }
  if (faded) problem_.blocks().drop_zero_duals(i);
  problem_.refresh(i, 0);
  return loss_change;
}

void FrankWolfe::average(std::span<double> w) const {
  if (clock_ == 0) return;
  const double steps = static_cast<double>(clock_);
  const double share = 2 / (steps * (steps + 1));
  for (std::size_t k = 0; k < w.size(); ++k) w[k] -= share * late_[k];
}

double FrankWolfe::averaged_dual(double squared_norm) const {
  if (!averages() || clock_ == 0) return dual(squared_norm);
  const double steps = static_cast<double>(clock_);
  return problem_.weighted_loss() - 2 / (steps * (steps + 1)) * late_loss_ - squared_norm / 2;
}

std::size_t FrankWolfe::memory() const {
  std::size_t bytes = BlockLearner::memory();
  for (const SparseSum& sum : sums_) bytes += sizeof(SparseSum) + sum.memory();
  return bytes;
}

StateArrays FrankWolfe::export_state() const {
  StateArrays state = BlockLearner::export_state();
  std::vector<std::uint64_t> sizes;
  std::vector<std::uint64_t> indices;
  std::vector<double> values;
  for (const SparseSum& sum : sums_) {
    sizes.push_back(sum.indices.size());
    indices.insert(indices.end(), sum.indices.begin(), sum.indices.end());
    values.insert(values.end(), sum.values.begin(), sum.values.end());
  }
  state["frank_wolfe_sizes"] = std::move(sizes);
  state["frank_wolfe_indices"] = std::move(indices);
  state["frank_wolfe_values"] = std::move(values);
  state["frank_wolfe_late"] = std::vector<double>(late_.values().begin(), late_.values().end());
  state["frank_wolfe_sums"] = std::vector<double>{late_loss_, gap_of_last_pass_, problem_.weighted_loss()};
  state["frank_wolfe_clock"] = std::vector<std::uint64_t>{clock_};
  return state;
}

// w_i follow from the duals. Saved ones are taken for their last bits, unless the duals are no longer those that they
// belong to. Over other features there is nothing but the duals.
void FrankWolfe::import_state(const StateArrays& state) {
  const auto& sizes = state_array<std::uint64_t>(state, "frank_wolfe_sizes");
  const auto& indices = state_array<std::uint64_t>(state, "frank_wolfe_indices");
  const auto& values = state_array<double>(state, "frank_wolfe_values");
  const auto& late = state_array<double>(state, "frank_wolfe_late");
  const auto& sums = state_array<double>(state, "frank_wolfe_sums");
  const auto& clock = state_array<std::uint64_t>(state, "frank_wolfe_clock");
  const std::size_t saved_dimension = state_array<double>(state, "weights").size();
  if (sizes.size() != sums_.size() || indices.size() != values.size() ||
      late.size() != (late_.empty() ? 0 : saved_dimension) || (sums.size() != 3 && sums.size() != 2) ||
      clock.size() != 1) {
    throw std::invalid_argument("the state is not one of this learner: its arrays have other lengths");
  }
  for (const auto* numbers : {&values, &late, &sums}) {
    if (!all_finite(*numbers)) throw std::invalid_argument("the state has NaN or infinite values");
  }
  std::vector<SparseSum> saved(sizes.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > indices.size() - next) throw std::invalid_argument("'frank_wolfe_sizes' of the state is broken");
    for (const std::size_t end = next + sizes[i]; next < end; ++next) {
      if (indices[next] >= saved_dimension || (!saved[i].indices.empty() && indices[next] <= saved[i].indices.back())) {
        throw std::invalid_argument("'frank_wolfe_indices' of the state is broken");
      }
      saved[i].push_back(static_cast<WeightIndex>(indices[next]), values[next]);
    }
  }
  const bool same_dimension = saved_dimension == task().dimension();
  bool as_saved = problem_.import_state(state) && same_dimension;
  as_saved &= sums.size() == 3 && same_up_to_rounding(sums[2], problem_.weighted_loss());  // earlier versions had two
  sums_ = sums_of_duals();
  for (std::size_t i = 0; same_dimension && i < sums_.size(); ++i) {
    const bool same = same_up_to_rounding(saved[i], sums_[i]);
    if (same) sums_[i] = std::move(saved[i]);
    as_saved &= same;
  }
  begin_pass();
  gap_of_last_pass_ = sums[1];
  if (same_dimension) std::ranges::copy(late, late_.values().begin());
  late_loss_ = sums[0];
  clock_ = clock[0];
  if (!as_saved) forget_average();  // over duals that are no dual point here, or of other features and losses
}

void FrankWolfe::forget_average() {
  std::ranges::fill(late_.values(), 0.0);
  late_loss_ = 0;
  clock_ = 0;
}

std::vector<SparseSum> FrankWolfe::sums_of_duals() {
  std::vector<SparseSum> result(sums_.size());
  Lane lane;
  for (std::size_t i = 0; i < result.size(); ++i) {
    for (const auto& member : problem_.blocks()[i].members()) {
      Candidate difference;
      difference.example = i;
      difference.output = problem_.blocks()[i].output(member);
      difference.implicit = task().capabilities().implicit;
      difference.difference = problem_.blocks().entries(i, member, lane.scratch);
      adder_.add(task(), difference, member.dual);
    }
    adder_.take(result[i]);
  }
  return result;
}

}  // namespace marginloom
