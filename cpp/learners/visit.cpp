#include "learners/visit.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace marginloom {
namespace {

// Four sums at a time, so that an addition need not wait for the one before.
template <class Position, class Value>
double dot_row(const Position* positions, const Value* values, std::size_t count, const double* coordinates) {
  double sums[4] = {};
  const std::size_t whole = count & ~std::size_t{3};
  for (std::size_t k = 0; k < whole; k += 4) {
    for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += coordinates[positions[k + lane]] * values[k + lane];
  }
  for (std::size_t k = whole; k < count; ++k) sums[k - whole] += coordinates[positions[k]] * values[k];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <class Position, class Value>
void add_row(const Position* positions, const Value* values, std::size_t count, double step, double* coordinates) {
  for (std::size_t k = 0; k < count; ++k) coordinates[positions[k]] += step * values[k];
}

// Coordinates that are the weights of the support. Damped steps move them further than the weights themselves.
template <class Position, class Value>
struct SupportCoordinates {
  const Block::Row* rows;
  const Position* positions;
  const Value* values;
  double* weights;
  const double* factors;  // or null

  [[nodiscard]] double dot(std::size_t j) const {
    return dot_row(positions + rows[j].first_entry, values + rows[j].first_entry, rows[j].entry_count, weights);
  }
  [[nodiscard]] double squared_norm(std::size_t j) const {
    if (!factors) return rows[j].squared_norm;
    double sum = 0;
    const std::size_t end = std::size_t{rows[j].first_entry} + rows[j].entry_count;
    for (std::size_t k = rows[j].first_entry; k < end; ++k) sum += factors[positions[k]] * values[k] * values[k];
    return sum;
  }
  void move(std::size_t j, double step) const {
    const std::size_t first = rows[j].first_entry;
    if (!factors) return add_row(positions + first, values + first, rows[j].entry_count, step, weights);
    for (std::size_t k = first; k < first + rows[j].entry_count; ++k) {
      weights[positions[k]] += step * factors[positions[k]] * values[k];
    }
  }
};

// Coordinates that are the scores w.d of the candidates.
struct ScoreCoordinates {
  const Block::Row* rows;
  const double* products;
  std::size_t size;
  double* scores;
  double factor;

  [[nodiscard]] double dot(std::size_t j) const { return scores[j]; }
  [[nodiscard]] double squared_norm(std::size_t j) const { return factor * rows[j].squared_norm; }
  void move(std::size_t j, double step) const {
    for (std::size_t k = 0; k < size; ++k) scores[k] += factor * step * products[j * size + k];
  }
};

template <class Rule>
Step on_coordinates(Visit& visit, Rule rule) {
  const Block& block = *visit.open.block;
  const Block::Row* const rows = block.rows().data();
  double* const gathered = visit.open.values.data();
  if (!block.has_support()) {
    return rule(ScoreCoordinates{rows, block.products().data(), block.size(), gathered, visit.asked.damping.most});
  }
  const double* const factors = visit.open.factors.empty() ? nullptr : visit.open.factors.data();
  return block.with_entries([&]<class Position, class Value>(const Position* positions, const Value* values) {
    return rule(SupportCoordinates<Position, Value>{rows, positions, values, gathered, factors});
  });
}

// For rules that move the coordinates by their steps: the scores, if the block knows their products, which makes a step
// a few numbers; damped, the products are others.
template <class Rule>
Step on_moving_coordinates(Visit& visit, Rule rule) {
  const Block& block = *visit.open.block;
  if (!block.has_support()) return on_coordinates(visit, rule);
  if (!block.has_products() || !visit.open.factors.empty()) {
    visit.open.as_read = visit.open.values;
    return on_coordinates(visit, rule);
  }
  visit.scratch.scores.resize(block.size());
  on_coordinates(visit, [&](const auto& coordinates) {
    for (std::size_t j = 0; j < block.size(); ++j) visit.scratch.scores[j] = coordinates.dot(j);
    return Step();
  });
  return rule(
      ScoreCoordinates{block.rows().data(), block.products().data(), block.size(), visit.scratch.scores.data(), 1});
}

double sum_of_duals(const Visit& visit) {
  return std::accumulate(visit.open.duals.begin(), visit.open.duals.end(), visit.open.block->duals_elsewhere());
}

void order_candidates(Visit& visit) {
  visit.scratch.order.resize(visit.open.block->size());
  std::iota(visit.scratch.order.begin(), visit.scratch.order.end(), 0U);
  visit.asked.random.shuffle(std::span(visit.scratch.order).subspan(1));
}

void note_steps(Visit& visit, Step& step) {
  const auto rows = visit.open.block->rows();
  visit.open.steps.resize(rows.size());
  for (std::size_t j = 0; j < rows.size(); ++j) {
    visit.open.steps[j] = visit.open.duals[j] - rows[j].dual;
    step.updates += visit.open.steps[j] != 0 ? 1 : 0;
  }
}

// What the steps do to the weights of the support; all of `sums` must be 0.
void sum_steps(const Block& block, std::span<const double> steps, std::span<double> sums) {
  const auto rows = block.rows();
  block.with_entries([&](const auto* positions, const auto* values) {
    for (std::size_t j = 0; j < rows.size(); ++j) {
      const std::size_t first = rows[j].first_entry;
      if (steps[j] == 0) continue;
      add_row(positions + first, values + first, rows[j].entry_count, steps[j], sums.data());
    }
  });
}

void add_sums(std::span<const WeightIndex> support, std::span<const double> sums, const WeightWriter& w) {
  w.with_add([&](auto add) {
    for (std::size_t k = 0; k < sums.size(); ++k) {
      if (sums[k] != 0) add(support[k], sums[k]);
    }
  });
}

// So many numbers that are 0, and are to be 0 again after use.
std::span<double> zeros(std::size_t count, VisitScratch& scratch) {
  scratch.spread.resize(std::max(scratch.spread.size(), count));
  return std::span(scratch.spread).first(count);
}

// The products of candidate j with itself and those behind it; all of `spread` must be 0. They are added up in the
// order of the weights, so that the product of two candidates has the same bits whichever of them comes first.
void multiply_row(const Block& block, std::size_t j, const double* factors, std::span<double> spread,
                  std::span<double> products) {
  const auto rows = block.rows();
  const std::size_t size = rows.size();
  block.with_entries([&]<class Position, class Value>(const Position* positions, const Value* values) {
    const SupportCoordinates<Position, Value> coordinates{rows.data(), positions, values, spread.data(), factors};
    products[j * size + j] = coordinates.squared_norm(j);
    if (j + 1 == size) return;
    coordinates.move(j, 1);
    for (std::size_t k = j + 1; k < size; ++k) {
      double sum = 0;
      const std::size_t end = std::size_t{rows[k].first_entry} + rows[k].entry_count;
      for (std::size_t e = rows[k].first_entry; e < end; ++e) sum += spread[positions[e]] * values[e];
      products[j * size + k] = products[k * size + j] = sum;
    }
    const Position* const row = positions + rows[j].first_entry;
    for (std::size_t e = 0; e < rows[j].entry_count; ++e) spread[row[e]] = 0;
  });
}

// A function of its own, so that the thread sanitizer can be told of just these reads: other threads may be changing
// the weights.
[[gnu::noinline]] void gather_scores(const Task& task, std::size_t i, WeightView w, Visit& visit) {
  implicit_differences(task).gather(i, visit.open.outputs, w, visit.open.values);
}

// loss - w.d - ridge * sum of all candidates.
void fill_gradient(const BlockTerms& terms, Visit& visit) {
  const auto rows = visit.open.block->rows();
  const double ridge = terms.ridge * sum_of_duals(visit);
  visit.scratch.gradient.resize(rows.size());
  if (visit.open.block->has_support()) {
    on_coordinates(visit, [&](const auto& coordinates) {
      for (std::size_t j = 0; j < rows.size(); ++j)
        visit.scratch.gradient[j] = rows[j].loss - coordinates.dot(j) - ridge;
      return Step();
    });
  } else {
    for (std::size_t j = 0; j < rows.size(); ++j)
      visit.scratch.gradient[j] = rows[j].loss - visit.open.values[j] - ridge;
  }
}

}  // namespace

double OpenBlock::dot(const Block::Row& row) const {
  if (!block->has_support()) return values[static_cast<std::size_t>(&row - block->rows().data())];
  return block->with_entries([&](const auto* positions, const auto* row_values) {
    return dot_row(positions + row.first_entry, row_values + row.first_entry, row.entry_count, values.data());
  });
}

void gather(const Task& task, std::size_t i, WeightView w, Visit& visit) {
  const Block& block = *visit.open.block;
  const auto rows = block.rows();
  visit.open.as_read.clear();
  visit.open.factors.clear();
  visit.open.duals.resize(rows.size());
  for (std::size_t j = 0; j < rows.size(); ++j) visit.open.duals[j] = rows[j].dual;
  if (block.has_support()) {
    const auto support = block.support();
    visit.open.values.resize(support.size());
    for (std::size_t k = 0; k < support.size(); ++k) visit.open.values[k] = read_weight(w, support[k]);
    if (visit.asked.damping.most == 1) return;
    for (const WeightIndex k : support) visit.open.factors.push_back(visit.asked.damping.of(k));
    return;
  }
  visit.open.values.resize(rows.size());
  block.list_outputs(visit.open.outputs);
  gather_scores(task, i, w, visit);
}

void scatter(const Task& task, std::size_t i, const WeightWriter& w, Visit& visit, WeightDelta* delta) {
  const OpenBlock& open = visit.open;
  const Block& block = *open.block;
  if (!block.has_support()) {
    implicit_differences(task).scatter(i, open.outputs, open.steps, w);
    if (delta) delta->add(i, open.outputs, open.steps);
    return;
  }
  const auto support = block.support();
  const auto sums = delta ? delta->add(support) : zeros(support.size(), visit.scratch);
  if (open.as_read.empty()) {
    sum_steps(block, open.steps, sums);
  } else {  // the rule has added them up
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] = open.values[k] - open.as_read[k];
    for (std::size_t k = 0; k < open.factors.size(); ++k) sums[k] /= open.factors[k];
  }
  add_sums(support, sums, w);
  if (!delta) std::ranges::fill(sums, 0.0);
}

void add_differences(const Task& task, std::size_t i, std::span<const double> numbers, const WeightWriter& w,
                     Visit& visit) {
  const Block& block = *visit.open.block;
  if (!block.has_support()) return implicit_differences(task).scatter(i, visit.open.outputs, numbers, w);
  const auto sums = zeros(block.support().size(), visit.scratch);
  sum_steps(block, numbers, sums);
  add_sums(block.support(), sums, w);
  std::ranges::fill(sums, 0.0);
}

void multiply_first(Block& block, VisitScratch& scratch) {
  multiply_row(block, 0, nullptr, zeros(block.support().size(), scratch), block.products());
}

void fill_products(const Task& task, std::size_t i, Visit& visit, std::span<double> products) {
  const Block& block = *visit.open.block;
  const std::size_t size = block.size();
  if (block.has_products() && visit.open.factors.empty()) {
    std::ranges::copy(block.products(), products.begin());
  } else if (block.has_support()) {
    const auto spread = zeros(block.support().size(), visit.scratch);
    const double* const factors = visit.open.factors.empty() ? nullptr : visit.open.factors.data();
    for (std::size_t j = 0; j < size; ++j) multiply_row(block, j, factors, spread, products);
  } else {
    const ImplicitDifferences& differences = implicit_differences(task);
    Scratch& scratch = visit.scratch.for_task(task);
    for (std::size_t j = 0; j < size; ++j) {
      differences.products(i, visit.open.outputs[j], visit.open.outputs, scratch, products.subspan(j * size, size));
    }
  }
  if (block.has_support()) return;
  for (double& product : products) product *= visit.asked.damping.most;
}

Step sweep(const BlockTerms& terms, int most_sweeps, Visit& visit) {
  constexpr double little = 0.1;
  const auto rows = visit.open.block->rows();
  double sum = sum_of_duals(visit);
  Step result;
  order_candidates(visit);
  on_moving_coordinates(visit, [&](const auto& coordinates) {
    const auto sweep_once = [&] {
      double total = 0;
      for (const std::uint32_t j : visit.scratch.order) {
        const double gradient = rows[j].loss - coordinates.dot(j) - terms.ridge * sum;
        const double curvature = coordinates.squared_norm(j) + terms.ridge;
        const double dual = std::max(visit.open.duals[j] + gradient / curvature, 0.0);
        const double step = dual - visit.open.duals[j];
        if (step == 0) continue;
        const double gain = step * (gradient - step * curvature / 2);
        result.tried_gain += gain;
        if (gain < visit.asked.least_gain) continue;
        coordinates.move(j, step);
        visit.open.duals[j] = dual;
        sum += step;
        total += gain;
        result.residual = std::max(result.residual, std::abs(gradient));
      }
      return total;
    };
    for (int turn = 0; turn < most_sweeps; ++turn) {
      const double gain = sweep_once();
      result.tried += rows.size();
      result.gain += gain;
      if (gain <= little * result.gain) break;
    }
    return Step();
  });
  note_steps(visit, result);
  return result;
}

Step solve_exactly(const Task& task, std::size_t i, const BlockTerms& terms, double tolerance,
                   const UniformProducts* uniform, Visit& visit) {
  const std::size_t size = visit.open.block->size();
  const double budget = std::max(terms.budget - visit.open.block->duals_elsewhere(), 0.0);
  fill_gradient(terms, visit);
  Step result{.residual = SimplexQp::residual(visit.open.duals, visit.scratch.gradient, budget)};
  result.as_a_whole = true;
  if (result.residual > tolerance) {
    if (uniform) {
      result.gain = visit.scratch.qp.solve_uniform(visit.open.duals, visit.scratch.gradient, budget,
                                                   visit.asked.damping.most * uniform->shared + terms.ridge,
                                                   visit.asked.damping.most * uniform->excess);
    } else {
      visit.scratch.qp.reset(size);
      fill_products(task, i, visit, visit.scratch.qp.products());
      for (double& product : visit.scratch.qp.products()) product += terms.ridge;
      result.gain =
          visit.scratch.qp.solve(visit.open.duals, visit.scratch.gradient, budget, tolerance / 8, 100 + 20 * size).gain;
    }
    result.tried = 1;
    result.tried_gain = result.gain;
    if (result.gain < visit.asked.least_gain) {
      result.gain = 0;
      for (std::size_t j = 0; j < size; ++j) visit.open.duals[j] = visit.open.block->rows()[j].dual;
      fill_gradient(terms, visit);
    }
  }
  result.largest_violation = *std::ranges::max_element(visit.scratch.gradient);
  note_steps(visit, result);
  return result;
}

Step sweep_as_published(const BlockTerms& terms, double tolerance, Visit& visit) {
  const auto rows = visit.open.block->rows();
  double sum = sum_of_duals(visit);
  Step result;
  on_moving_coordinates(visit, [&](const auto& coordinates) {
    for (std::size_t j = 0; j < rows.size(); ++j) {
      const double violation = rows[j].loss - coordinates.dot(j);
      const double curvature = coordinates.squared_norm(j);
      const bool may_rise = visit.open.duals[j] < terms.budget && violation > tolerance;
      const bool may_fall = visit.open.duals[j] > 0 && violation < -tolerance;
      result.largest_violation = std::max(result.largest_violation, violation);
      if (!(may_rise || may_fall)) continue;
      const double step = std::clamp(violation / curvature, -visit.open.duals[j], std::max(terms.budget - sum, 0.0));
      if (step == 0) continue;
      coordinates.move(j, step);
      visit.open.duals[j] += step;
      sum += step;
      result.gain += step * (violation - step * curvature / 2);
      result.residual = std::max(result.residual, std::abs(violation));
    }
    return Step();
  });
  result.tried = rows.size();
  result.tried_gain = result.gain;
  note_steps(visit, result);
  return result;
}

}  // namespace marginloom
