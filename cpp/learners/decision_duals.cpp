#include "learners/decision_duals.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "core/common.hpp"
#include "core/prefetch.hpp"

namespace marginloom {
namespace {

// Steps go further than to the best point on their own, as the rows that follow would take them: any factor below 2
// raises the dual with every step, and this one takes half the sweeps or fewer (0.1 % on ml_scene: 400 for 700).
constexpr double over_relaxation = 1.5;

DecisionForm checked_form(const ScoredTask& task, const ExampleNumbers& costs, Loss loss) {
  require(task.capabilities().gold, "the examples have no gold outputs");
  auto form = task.decision_form();
  require(form && form->independent, "the learner needs a task whose outputs are made of independent decisions");
  require(loss == Loss::hinge || form->columns_per_example == 1,
          "the learner needs a slack of its own for every decision where the loss is the squared hinge");
  require(costs.alike_in_rows_of(form->examples_per_row),
          "the learner needs the same weight for all decisions of a row");
  return std::move(*form);
}

}  // namespace

DecisionDuals::DecisionDuals(const ScoredTask& task, const ExampleNumbers& costs, Loss loss)
    : task_(task),
      loss_(loss),
      form_(checked_form(task, costs, loss)),
      costs_(rows()),
      duals_(groups() * rows() * group_size),
      gold_(groups() * rows()) {
  const std::size_t columns = form_.weights.columns;
  form_.missing.resize(groups() * group_size);
  form_.spurious.resize(groups() * group_size);
  for (std::size_t r = 0; r < rows(); ++r) {
    costs_[r] = costs[r * form_.examples_per_row];
    for (std::size_t c = 0; c < columns; ++c) {
      if (task.gold_decision(r, c))
        gold_[c / group_size * rows() + r] |= static_cast<std::uint8_t>(1u << c % group_size);
    }
  }
  terms_ = terms(1);
}

std::size_t DecisionDuals::bytes_for(const DecisionForm& form) {
  const std::size_t groups = (form.weights.columns + group_size - 1) / group_size;
  return groups * form.weights.inputs.size() * (group_size * sizeof(double) + 1);
}

std::vector<DecisionTerms> DecisionDuals::terms(double share) const {
  const bool hinge = loss_ == Loss::hinge;
  std::vector<DecisionTerms> result;
  result.reserve(rows());
  for (std::size_t r = 0; r < rows(); ++r) {
    const double cost = share * this->cost(r);
    const double ridge = hinge || cost == 0 ? 0 : 1 / (2 * cost);
    const double curvature = form_.weights.inputs.squared_norm(r) + ridge;
    // An input without features, or with hardly any, bounds nothing: its duals go as far as they may.
    const double inverse = std::min(over_relaxation / curvature, std::numeric_limits<double>::max());
    result.push_back({hinge || cost == 0 ? cost : std::numeric_limits<double>::infinity(), ridge, inverse});
  }
  return result;
}

void DecisionDuals::prefetch(std::size_t group, std::size_t row) const {
  prefetch_line(of(group, row));
  prefetch_line(&gold_[group * rows() + row]);
  prefetch_line(&terms_[row]);
  form_.weights.inputs.prefetch(row);
}

bool DecisionDuals::empty(std::size_t group) const {
  return std::all_of(of(group, 0), of(group, 0) + rows() * group_size, [](double dual) { return dual == 0; });
}

DecisionDuals::Sums DecisionDuals::sums(std::size_t group) const {
  const auto [missing, spurious] = costs(group);
  Sums result;
  for (std::size_t r = 0; r < rows(); ++r) {
    const double* duals = of(group, r);
    double squares = 0;
    for (std::size_t c = 0; c < group_size; ++c) {
      result.value += duals[c] > 0 ? missing[c] * duals[c] : -spurious[c] * duals[c];
      result.active += duals[c] != 0 ? 1 : 0;
      squares += duals[c] * duals[c];
    }
    result.value -= terms_[r].ridge / 2 * squares;
  }
  return result;
}

// Row by row, with the bits of a row in whole bytes.
StateArrays DecisionDuals::export_state() const {
  std::vector<std::uint8_t> used;
  std::vector<double> values;
  used.reserve(groups() * rows());
  values.reserve(static_cast<std::size_t>(std::ranges::count_if(duals_, [](double dual) { return dual != 0; })));
  for (std::size_t r = 0; r < rows(); ++r) {
    for (std::size_t g = 0; g < groups(); ++g) {
      unsigned bits = 0;
      for (std::size_t c = 0; c < group_size; ++c) {
        if (of(g, r)[c] == 0) continue;
        bits |= 1u << c;
        values.push_back(of(g, r)[c]);
      }
      used.push_back(static_cast<std::uint8_t>(bits));
    }
  }
  return {{"decisions", std::move(used)}, {"decision_duals", std::move(values)}};
}

void DecisionDuals::import_state(const StateArrays& state) {
  if (state.contains("decisions")) {
    take_decisions(state);
  } else {
    take_chains(state);
  }
  clip();
}

void DecisionDuals::take_decisions(const StateArrays& state) {
  const auto& used = state_array<std::uint8_t>(state, "decisions");
  const auto& values = state_array<double>(state, "decision_duals");
  const auto bits = [](std::size_t sum, std::uint8_t byte) {
    return sum + static_cast<std::size_t>(std::popcount(byte));
  };
  if (used.size() != groups() * rows() ||
      std::accumulate(used.begin(), used.end(), std::size_t{0}, bits) != values.size()) {
    throw std::invalid_argument("'decision_duals' of the state does not fit 'decisions', or the decisions here");
  }
  if (!all_finite(values)) throw std::invalid_argument("'decision_duals' of the state has NaN or infinite values");
  const double* next = values.data();
  for (std::size_t k = 0; k < used.size(); ++k) {
    for (std::size_t c = 0; c < group_size; ++c) of(k % groups(), k / groups())[c] = (used[k] >> c) & 1 ? *next++ : 0;
  }
}

// A decision has the sum of the duals of the outputs that have it wrong.
void DecisionDuals::take_chains(const StateArrays& state) {
  const auto& examples = state_array<std::uint64_t>(state, "dual_examples");
  const auto& duals = state_array<double>(state, "duals");
  const auto& offsets = state_array<std::uint64_t>(state, "dual_output_offsets");
  const auto& outputs = state_array<std::uint8_t>(state, "dual_outputs");
  if (duals.size() != examples.size() || offsets.size() != examples.size() + 1) {
    throw std::invalid_argument("the arrays of dual variables differ in length");
  }
  std::ranges::fill(duals_, 0.0);
  const auto scratch = task_.make_scratch();
  FunctionSink ignore([](const Candidate&) {});
  ScoreSteps steps;
  for (std::size_t j = 0; j < examples.size(); ++j) {
    if (offsets[j] > offsets[j + 1] || offsets[j + 1] > outputs.size() || !(duals[j] >= 0) ||
        !std::isfinite(duals[j])) {
      throw std::invalid_argument("dual variable " + std::to_string(j) + " of the state is broken");
    }
    const std::uint64_t i = examples[j];
    if (i >= task_.size()) {
      throw std::invalid_argument("the state has an example " + std::to_string(i) + " of " +
                                  std::to_string(task_.size()));
    }
    const ByteView output = ByteView(outputs).subspan(offsets[j], offsets[j + 1] - offsets[j]);
    if (!task_.candidate(i, output, *scratch, ignore)) continue;  // throws if these are no output
    steps.clear();
    task_.scatter_scored(i, std::span(&output, 1), std::span(&duals[j], 1), steps);
    const std::size_t first = i % form_.examples_per_row * form_.columns_per_example;
    for (const auto [score, value] : steps.all()) {
      of((first + score) / group_size, i / form_.examples_per_row)[(first + score) % group_size] += value;
    }
  }
}

// Into the bounds, which may have been others where the state was made: another C, other gold decisions. A row that
// does not count has none.
void DecisionDuals::clip() {
  for (std::size_t g = 0; g < groups(); ++g) {
    for (std::size_t r = 0; r < rows(); ++r) {
      const double budget = terms_[r].budget;
      for (std::size_t c = 0; c < group_size; ++c) {
        const bool yes = ((gold(g, r) >> c) & 1) != 0;
        const bool used = g * group_size + c < form_.weights.columns;
        double& dual = of(g, r)[c];
        dual = used && cost(r) > 0 ? std::clamp(dual, yes ? 0.0 : -budget, yes ? budget : 0.0) : 0.0;
      }
    }
  }
}

}  // namespace marginloom
