#include "learners/dcd.hpp"

#include <cmath>
#include <utility>

namespace marginloom {

Dcd::Dcd(std::shared_ptr<const Task> task, std::vector<double> costs, Parameters parameters)
    : blocks_(std::move(task), parameters.memory),
      costs_(std::move(costs)),
      sums_(blocks_.size(), 0.0),
      parameters_(parameters),
      delta_(parameters.delta) {
  if (costs_.size() != blocks_.size()) throw std::invalid_argument("one cost per example is needed");
}

FindOptions Dcd::search(std::size_t i) const {
  return {.k = parameters_.k_best, .min_violation = sums_[i] / (2 * costs_[i]) + delta_};
}

void Dcd::absorb(const Candidate& candidate) {
  blocks_.absorb(candidate);
}

void Dcd::note_gap(double primal, double dual) {
  constexpr double share = 0.1;
  double cost_sum = 0;
  double slack_sum = 0;  // sum_i C_i s_i
  for (std::size_t i = 0; i < costs_.size(); ++i) {
    cost_sum += costs_[i];
    slack_sum += sums_[i] / 2;
  }
  const double allowed = share * std::max(primal - dual, 0.0);
  const double root = slack_sum + std::sqrt(slack_sum * slack_sum + cost_sum * allowed);
  delta_ = root > 0 ? std::min(parameters_.delta, allowed / root) : parameters_.delta;
}

double Dcd::dual(double squared_norm) const {
  double ridge = 0;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    if (sums_[i] > 0) ridge += sums_[i] * sums_[i] / (4 * costs_[i]);
  }
  return blocks_.weighted_loss() - squared_norm / 2 - ridge;
}

StateArrays Dcd::export_state() const {
  StateArrays state = blocks_.export_state();
  state["dcd_delta"] = std::vector<double>{delta_};
  return state;
}

void Dcd::import_state(const StateArrays& state) {
  const auto& delta = state_array<double>(state, "dcd_delta");
  if (delta.size() != 1 || !(delta[0] >= 0)) throw std::invalid_argument("'dcd_delta' of the state is broken");
  DualBlocks blocks = blocks_.imported(state);
  std::vector<double> sums(sums_.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i] = blocks[i].dual_sum();
    if (sums[i] > 0 && !(costs_[i] > 0)) {
      throw std::invalid_argument("example " + std::to_string(i) + " has duals in the state but a weight of 0 here");
    }
  }
  blocks_ = std::move(blocks);
  sums_ = std::move(sums);
  delta_ = std::min(delta[0], parameters_.delta);
}

}  // namespace marginloom
