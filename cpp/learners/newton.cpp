#include "learners/newton.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "core/kernels.hpp"
#include "learners/registered_learner.hpp"

namespace marginloom {
namespace {

double sum_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double largest_of(std::span<const double> values) {
  return std::max(*std::ranges::max_element(values), 0.0);
}

}  // namespace

PassEnd Newton::end_pass(std::span<double> w, Visit& visit, StopRequest& stop) {
  constexpr int few = 6;
  constexpr int many = 12;
  constexpr double farthest = 1000;  // beyond, rounding does more harm than distance good
  collect_candidates();
  if (groups_.empty()) return {};
  Point point;
  point.weights.assign(w.begin(), w.end());
  const bool rises = minimise(point, visit, stop) && dual_at(point) >= dual(kernels().squared_norm(w.data(), w.size()));
  if (!rises) {
    if (!stop.stopped()) reach_ /= 8;
    return {};
  }
  const double gap = accept(point, w);
  reach_ = std::min(reach_ * (steps_ <= few ? 8 : steps_ <= many ? 4 : 2), farthest);
  blocks_.trim();
  return {centre_.size(), gap};
}

void Newton::collect_candidates() {
  groups_.clear();
  centre_.clear();
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    if (block.empty()) continue;
    groups_.push_back({i, centre_.size(), block.size(), terms(i), reach_ * cost(i)});
    for (const Block::Row& row : block.rows()) centre_.push_back(row.dual);
  }
}

void Newton::evaluate(Point& point, Visit& visit) {
  point.duals = centre_;
  point.violations.resize(centre_.size());
  point.gradient = point.weights;
  point.value = kernels().squared_norm(point.weights.data(), point.weights.size()) / 2;
  const WeightWriter gradient{point.gradient.data()};
  for (const Group& group : groups_) {
    point.value += evaluate(group, point, visit);
    add_differences(task(), group.example, numbers_, gradient, visit);
  }
}

double Newton::evaluate(const Group& group, Point& point, Visit& visit) {
  const auto [i, first, count, terms, reach] = group;
  const auto duals = std::span(point.duals).subspan(first, count);
  const auto violations = std::span(point.violations).subspan(first, count);
  const auto centre = std::span(centre_).subspan(first, count);
  blocks_.open(i, visit);
  gather(task(), i, point.weights, visit);
  auto& gradient = visit.scratch.gradient;
  gradient.resize(count);
  numbers_.resize(count);
  const double ridge = terms.ridge * sum_of(centre);
  for (std::size_t j = 0; j < count; ++j) {
    const Block::Row& row = visit.open.block->rows()[j];
    violations[j] = row.loss - visit.open.dot(row);
    gradient[j] = violations[j] - ridge;
  }
  visit.scratch.qp.solve_uniform(duals, gradient, terms.budget, terms.ridge, 1 / reach);
  const double sum = sum_of(duals);
  double value = -terms.ridge * sum * sum / 2;
  for (std::size_t j = 0; j < count; ++j) {
    const double change = duals[j] - centre[j];
    value += duals[j] * violations[j] - change * change / (2 * reach);
    numbers_[j] = -duals[j];
  }
  return value;
}

bool Newton::minimise(Point& point, Visit& visit, StopRequest& stop) {
  constexpr int most_steps = 30;
  constexpr double enough = 1e-4;    // of the fall that the slope promises
  constexpr double shortest = 1e-8;  // step
  constexpr double rounding = 1e-13;
  evaluate(point, visit);
  std::vector<double> direction;
  Point next;
  for (steps_ = 1; steps_ <= most_steps && !stop.stopped(); ++steps_) {
    if (!find_direction(point, direction, visit)) return false;
    const double slope = std::inner_product(direction.begin(), direction.end(), point.gradient.begin(), 0.0);
    double length = 1;
    for (; length >= shortest; length /= 2) {
      next.weights = point.weights;
      for (std::size_t k = 0; k < direction.size(); ++k) next.weights[k] += length * direction[k];
      evaluate(next, visit);
      if (next.value <= point.value + enough * length * slope) break;
    }
    const bool exact = length == 1 && on_same_piece(point, next);
    std::swap(point, next);
    if (exact || -slope <= rounding * std::abs(point.value)) return true;
  }
  return false;
}

bool Newton::find_direction(const Point& point, std::vector<double>& direction, Visit& visit) {
  vector_.resize(point.weights.size());
  curvature_.reset(point.weights.size());
  for (const Group& group : groups_) add_curvature(group, point, visit);
  direction.resize(point.gradient.size());
  std::ranges::transform(point.gradient, direction.begin(), std::negate());
  return curvature_.solve(direction);
}

void Newton::add_curvature(const Group& group, const Point& point, Visit& visit) {
  const auto duals = std::span(point.duals).subspan(group.first, group.count);
  const auto active = std::ranges::count_if(duals, [](double dual) { return dual > 0; });
  const auto count = static_cast<double>(active);
  const double ridge = group.terms.ridge * group.reach;
  const double shared = is_used_up(group, point) ? 1 / count : ridge / (1 + count * ridge);
  if (active == 0 || (active == 1 && shared == 1)) return;
  blocks_.open(group.example, visit);
  gather(task(), group.example, point.weights, visit);
  numbers_.assign(group.count, 0.0);
  for (std::size_t j = 0; j < group.count; ++j) {
    if (!(duals[j] > 0)) continue;
    numbers_[j] = 1;
    add_square(group, group.reach * (active == 1 ? 1 - shared : 1), visit);
    numbers_[j] = 0;
  }
  if (active == 1 || shared == 0) return;
  for (std::size_t j = 0; j < group.count; ++j) numbers_[j] = duals[j] > 0 ? 1 : 0;
  add_square(group, -shared * group.reach, visit);
}

void Newton::add_square(const Group& group, double factor, Visit& visit) {
  add_differences(task(), group.example, numbers_, {vector_.data()}, visit);
  curvature_.add(vector_, factor);
  std::ranges::fill(vector_, 0.0);
}

bool Newton::is_used_up(const Group& group, const Point& point) {
  constexpr double nearly = 1 - 1e-12;
  if (group.terms.budget == SimplexQp::no_budget) return false;
  return sum_of(std::span(point.duals).subspan(group.first, group.count)) >= nearly * group.terms.budget;
}

bool Newton::on_same_piece(const Point& first, const Point& second) const {
  const auto alike = [](double a, double b) { return (a > 0) == (b > 0); };
  return std::ranges::equal(first.duals, second.duals, alike) && std::ranges::all_of(groups_, [&](const Group& group) {
           return is_used_up(group, first) == is_used_up(group, second);
         });
}

double Newton::dual_at(const Point& point) const {
  double value = 0;
  for (std::size_t k = 0; k < point.weights.size(); ++k) {
    const double weight = point.weights[k] - point.gradient[k];  // sum a d
    value -= weight * weight / 2;
  }
  for (const Group& group : groups_) {
    const auto rows = blocks()[group.example].rows();
    double sum = 0;
    for (std::size_t j = 0; j < rows.size(); ++j) {
      const double dual = point.duals[group.first + j];
      value += dual * rows[j].loss;
      sum += dual;
    }
    value -= group.terms.ridge * sum * sum / 2;
  }
  return value;
}

double Newton::accept(const Point& point, std::span<double> w) {
  double losses = 0;
  for (const Group& group : groups_) {
    const double largest = largest_of(std::span(point.violations).subspan(group.first, group.count));
    losses += cost(group.example) * loss_value(loss(), largest);
    const auto rows = blocks_[group.example].rows();
    for (std::size_t j = 0; j < rows.size(); ++j) rows[j].dual = point.duals[group.first + j];
    refresh(group.example, largest);
    blocks_.drop_zero_duals(group.example);
  }
  write_weights(w);
  const double squared_norm = kernels().squared_norm(w.data(), w.size());
  return squared_norm / 2 + losses - dual(squared_norm);
}

StateArrays Newton::export_state() const {
  StateArrays state = BlockProblem::export_state();
  state["proximal_reach"] = std::vector<double>{reach_};
  return state;
}

void Newton::import_state(const StateArrays& state) {
  double reach = first_reach;  // a state of dual coordinate descent has none
  if (state.contains("proximal_reach")) {
    const auto& saved = state_array<double>(state, "proximal_reach");
    if (saved.size() != 1 || !(saved[0] > 0) || !std::isfinite(saved[0])) {
      throw std::invalid_argument("'proximal_reach' of the state is broken");
    }
    reach = saved[0];
  }
  BlockProblem::import_state(state);
  reach_ = reach;
}

StateArrays Newton::merged(const StateArrays& first, const StateArrays& second) const {
  StateArrays state = BlockProblem::merged(first, second);
  const auto reaches = concatenated<double>(first, second, "proximal_reach");
  state["proximal_reach"] = std::vector<double>{std::ranges::min(reaches)};
  return state;
}

namespace {

const LearnerRegistration<Newton> registered_newton("newton", RowNumbers::costs,
                                                    {parameter("loss", &Newton::Parameters::loss, loss_words),
                                                     parameter("delta", &Newton::Parameters::delta),
                                                     parameter("memory", &Newton::Parameters::memory)});

}  // namespace

}  // namespace marginloom
