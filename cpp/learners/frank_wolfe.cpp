#include "learners/frank_wolfe.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace marginloom {

FrankWolfe::FrankWolfe(std::shared_ptr<const Task> task, std::vector<double> costs, Parameters parameters)
    : BlockLearner({std::move(task), std::move(costs), Loss::hinge, 0, parameters.memory}),
      parameters_(parameters),
      oracle_(problem_.blocks().size(), Oracle::none),
      norms_(problem_.blocks().size(), 0.0),
      late_(parameters.averaged ? problem_.blocks().task().dimension() : 0, 0.0) {}

void FrankWolfe::absorb(const Candidate& candidate) {
  BlockLearner::absorb(candidate);
  oracle_[candidate.example] = Oracle::candidate;
}

void FrankWolfe::searched(std::size_t i, double) {
  if (oracle_[i] == Oracle::none) oracle_[i] = Oracle::gold;
}

void FrankWolfe::end_pass(const PlainWeights& w, Lane& lane) {
  gap_of_last_pass_ = std::exchange(gap_of_pass_, 0.0);
  BlockLearner::end_pass(w, lane);
}

double FrankWolfe::block_gap(std::size_t i, std::size_t target, const BlockWorkspace& work) const {
  double gap = target == gold ? 0 : problem_.cost(i) * work.gradient[target];
  const auto members = problem_.blocks()[i].members();
  for (std::size_t j = 0; j < members.size(); ++j) gap -= members[j].dual * work.gradient[j];
  return gap;
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
  return problem_.blocks().weighted_loss() - 2 / (steps * (steps + 1)) * late_loss_ - squared_norm / 2;
}

StateArrays FrankWolfe::export_state() const {
  StateArrays state = BlockLearner::export_state();
  state["frank_wolfe_norms"] = norms_;
  state["frank_wolfe_late"] = late_;
  state["frank_wolfe_sums"] = std::vector<double>{late_loss_, gap_of_last_pass_};
  state["frank_wolfe_clock"] = std::vector<std::uint64_t>{clock_};
  return state;
}

void FrankWolfe::import_state(const StateArrays& state) {
  const auto& norms = state_array<double>(state, "frank_wolfe_norms");
  const auto& late = state_array<double>(state, "frank_wolfe_late");
  const auto& sums = state_array<double>(state, "frank_wolfe_sums");
  const auto& clock = state_array<std::uint64_t>(state, "frank_wolfe_clock");
  if (norms.size() != norms_.size() || late.size() != late_.size() || sums.size() != 2 || clock.size() != 1) {
    throw std::invalid_argument("the state is not one of this learner: its arrays have other lengths");
  }
  for (const auto* values : {&norms, &late, &sums}) {
    if (!all_finite(*values)) throw std::invalid_argument("the state has NaN or infinite values");
  }
  const bool as_saved = problem_.import_state(state);
  norms_ = norms;
  mend_norms();
  std::ranges::fill(oracle_, Oracle::none);
  gap_of_pass_ = 0;
  gap_of_last_pass_ = sums[1];
  // An average over duals of which some are now beyond their bound is no dual point: it starts again from here.
  late_ = as_saved ? late : std::vector<double>(late.size(), 0.0);
  late_loss_ = as_saved ? sums[0] : 0;
  clock_ = as_saved ? clock[0] : 0;
}

// Saved norms are taken for their last bits, unless the duals are no longer those that they belong to.
void FrankWolfe::mend_norms() {
  BlockWorkspace work;
  std::unique_ptr<Scratch> scratch;
  const DualBlocks& blocks = problem_.blocks();
  for (std::size_t i = 0; i < norms_.size(); ++i) {
    const auto members = blocks[i].members();
    blocks.gather(i, work, scratch);
    double norm = 0;
    for (std::size_t j = 0; j < members.size(); ++j) {
      for (std::size_t k = 0; k < members.size(); ++k) {
        norm += members[j].dual * members[k].dual * blocks.product(i, j, k, work);
      }
    }
    if (!(std::abs(norm - norms_[i]) <= 1e-6 * std::max(norm, 1e-6))) norms_[i] = norm;
  }
}

}  // namespace marginloom
