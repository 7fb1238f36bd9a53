#include "learners/frank_wolfe.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "learners/registered_learner.hpp"

namespace marginloom {
namespace {

bool same_up_to_rounding(double saved, double right) {
  return std::abs(saved - right) <= 1e-9 * std::max(std::abs(right), 1e-12);
}

bool same_up_to_rounding(const MergedRow& saved, const MergedRow& right) {
  double distance = 0;
  visit_both(saved, right, [&](WeightIndex, double x, double y) { distance += (x - y) * (x - y); });
  return distance <= 1e-12 * std::max(right.squared_norm, 1e-12);
}

// Without a cache differences are used once; the products of implicit ones are needed in every step.
std::size_t memory_for_blocks(const Task& task, const FrankWolfe::Parameters& parameters) {
  return task.implicit() || parameters.inner_passes > 0 ? parameters.memory : 1;
}

Objective hinge(std::shared_ptr<const Task> task, ExampleNumbers costs) {
  return {std::move(task), std::move(costs), Loss::hinge};
}

}  // namespace

FrankWolfe::FrankWolfe(std::shared_ptr<const Task> task, ExampleNumbers costs, Parameters parameters)
    : BlockProblem(hinge(task, std::move(costs)), 0, memory_for_blocks(*task, parameters), {.alike = true}),
      parameters_(parameters),
      implicit_(task->implicit() != nullptr),
      oracle_(task->size(), Oracle::none),
      merged_(implicit_ ? 0 : task->size()) {
  if (parameters.averaged) average_ = std::make_unique<StepAverage>(task->dimension());
}

void FrankWolfe::absorb(const Candidate& candidate, VisitScratch& scratch) {
  BlockProblem::absorb(candidate, scratch);
  oracle_[candidate.example] = Oracle::candidate;
  if (implicit_) return;
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

PassEnd FrankWolfe::end_pass(std::span<double> w, Visit& visit, StopRequest& stop) {
  PassEnd end = BlockProblem::end_pass(w, visit, stop);
  end.gap = gap_of_pass_;
  return end;
}

Step FrankWolfe::visit(std::size_t i, WeightView w, const WeightWriter& writer, Visit& visit, bool may_drop) {
  const Oracle oracle = std::exchange(oracle_[i], Oracle::none);
  if (blocks()[i].empty()) {
    if (oracle == Oracle::gold && average_) average_->tick();  // it stays where it is, at gold; that is a step, too
    return {};
  }
  const bool cached = oracle == Oracle::none;
  OpenBlock& open = visit.open;
  open.block = &blocks()[i];
  if (cached || implicit_) {
    blocks().open(i, visit);
    gather(task(), i, w, visit);
  }
  const std::size_t target = cached ? best_cached(open) : oracle == Oracle::candidate ? 0 : gold;
  Line line = implicit_ ? line_by_products(i, target, open) : line_by_rows(i, target, w, visit.scratch);
  if (!cached) gap_of_pass_ += line.gap;
  if (line.gap > 0) line.share = line.distance > line.gap ? line.gap / line.distance : 1;
  if (average_) average_->tick();
  if (line.share > 0 && !implicit_) move_by_row(i, line.share, writer);
  const double loss_change = move_duals(i, target, line.share, open);
  if (line.share > 0 && implicit_) scatter(task(), i, writer, visit);
  if (average_) average_->add_loss(loss_change);
  if (line.share > 0 && implicit_ && average_) {
    late_steps_ = open.steps;
    for (double& step : late_steps_) step *= average_->weight();
    add_differences(task(), i, late_steps_, average_->writer(), visit);
  }
  settle(i, open.duals, {}, may_drop);
  const double gain = line.share * (line.gap - line.share * line.distance / 2);
  return {.gain = gain, .tried_gain = gain, .tried = 1, .updates = line.share > 0 ? 1U : 0U};
}

std::size_t FrankWolfe::best_cached(const OpenBlock& open) {
  const auto rows = open.block->rows();
  double highest = 0;
  std::size_t best = gold;
  for (std::size_t j = 0; j < rows.size(); ++j) {
    const double violation = rows[j].loss - open.dot(rows[j]);
    if (violation > highest) {
      highest = violation;
      best = j;
    }
  }
  return best;
}

FrankWolfe::Line FrankWolfe::line_by_rows(std::size_t i, std::size_t target, WeightView w, VisitScratch& scratch) {
  const auto rows = blocks()[i].rows();
  Line line{};
  if (target == gold) {
    corner_.clear();
  } else {
    if (corner_of_ != i || target != 0) take_corner(i, blocks()[i].output(rows[target]), scratch);
    line.gap = cost(i) * rows[target].loss;
  }
  corner_of_ = gold;
  for (const Block::Row& row : rows) line.gap -= row.dual * row.loss;
  path_.clear();
  visit_both(merged_[i], corner_, [&](WeightIndex k, double from, double to) {
    const double way = to - from;
    line.gap -= w[k] * way;
    line.distance += way * way;
    path_.push_back({k, from, way});
  });
  return line;
}

FrankWolfe::Line FrankWolfe::line_by_products(std::size_t i, std::size_t target, const OpenBlock& open) const {
  const auto rows = open.block->rows();
  const auto products = open.block->products();
  const std::size_t size = rows.size();
  const auto way = [&](std::size_t j) { return (j == target ? cost(i) : 0) - rows[j].dual; };
  Line line{};
  for (std::size_t j = 0; j < size; ++j) {
    line.gap += way(j) * (rows[j].loss - open.values[j]);
    for (std::size_t k = 0; k < size; ++k) line.distance += way(j) * way(k) * products[j * size + k];
  }
  return line;
}

void FrankWolfe::move_by_row(std::size_t i, double share, const WeightWriter& w) {
  MergedRow& row = merged_[i];
  row.clear();
  const double late_share = average_ ? share * average_->weight() : 0;
  for (const Way& way : path_) {
    w.add(way.index, share * way.way);
    if (late_share > 0) average_->writer().add(way.index, late_share * way.way);
    const double value = share < 1 ? way.from + share * way.way : way.from + way.way;
    if (value != 0) row.push_back(way.index, value);
  }
}

double FrankWolfe::move_duals(std::size_t i, std::size_t target, double share, OpenBlock& open) const {
  const auto rows = open.block->rows();
  double loss_change = 0;
  open.duals.resize(rows.size());
  open.steps.resize(rows.size());
  for (std::size_t j = 0; j < rows.size(); ++j) {
    const double corner = j == target ? cost(i) : 0;
    double dual = share < 1 ? (1 - share) * rows[j].dual + share * corner : corner;
    if (dual <= 1e-14 * cost(i)) dual = 0;  // beyond rounding of the rest, and blocks must not grow for ever
    open.steps[j] = dual - rows[j].dual;
    loss_change += open.steps[j] * rows[j].loss;
    open.duals[j] = dual;
  }
  return loss_change;
}

void FrankWolfe::take_corner(std::size_t i, ByteView output, VisitScratch& scratch) {
  FunctionSink take([&](const Candidate& candidate) { take_corner(candidate); });
  (void)task().candidate(i, output, scratch.for_task(task()), take);
}

void FrankWolfe::take_corner(const Candidate& candidate) {
  corner_.clear();
  for (const Entry& entry : candidate.difference) {
    corner_.push_back(entry.index, cost(candidate.example) * entry.value);
  }
}

double FrankWolfe::dual(double squared_norm) const {
  return weighted_loss() - squared_norm / 2;
}

DualLearner::Held FrankWolfe::held() const {
  Held result = BlockProblem::held();
  for (const MergedRow& row : merged_) result.bytes += sizeof(MergedRow) + row.memory();
  return result;
}

StateArrays FrankWolfe::export_state() const {
  StateArrays state = BlockProblem::export_state();
  std::vector<std::uint64_t> sizes(implicit_ ? blocks().size() : 0, 0);
  std::vector<std::uint64_t> indices;
  std::vector<double> values;
  for (const MergedRow& row : merged_) {
    sizes.push_back(row.indices.size());
    indices.insert(indices.end(), row.indices.begin(), row.indices.end());
    values.insert(values.end(), row.values.begin(), row.values.end());
  }
  state["frank_wolfe_sizes"] = std::move(sizes);
  state["frank_wolfe_indices"] = std::move(indices);
  state["frank_wolfe_values"] = std::move(values);
  const auto late = average_ ? average_->late() : std::span<const double>();
  state["frank_wolfe_late"] = std::vector<double>(late.begin(), late.end());
  state["frank_wolfe_sums"] = std::vector<double>{average_ ? average_->late_loss() : 0, gap_of_pass_, weighted_loss()};
  state["frank_wolfe_clock"] = std::vector<std::uint64_t>{average_ ? average_->clock() : 0};
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
  if (indices.size() != values.size() || late.size() != (parameters_.averaged ? saved_dimension : 0) ||
      (sums.size() != 3 && sums.size() != 2) || clock.size() != 1) {
    throw std::invalid_argument("the state is not one of this learner: its arrays have other lengths");
  }
  for (const auto* numbers : {&values, &late, &sums}) {
    if (!all_finite(*numbers)) throw std::invalid_argument("the state has NaN or infinite values");
  }
  const auto places = ids().places_in(state, sizes.size());
  std::vector<MergedRow> saved(blocks().size());
  MergedRow elsewhere;
  std::size_t next = 0;
  for (std::size_t j = 0; j < sizes.size(); ++j) {
    if (sizes[j] > indices.size() - next) throw std::invalid_argument("'frank_wolfe_sizes' of the state is broken");
    MergedRow& row = places[j] ? saved[*places[j]] : elsewhere;
    row.clear();
    for (const std::size_t end = next + sizes[j]; next < end; ++next) {
      if (indices[next] >= saved_dimension || (!row.indices.empty() && indices[next] <= row.indices.back())) {
        throw std::invalid_argument("'frank_wolfe_indices' of the state is broken");
      }
      row.push_back(static_cast<WeightIndex>(indices[next]), values[next]);
    }
  }
  const bool same_dimension = saved_dimension == task().dimension();
  bool as_saved = import_blocks(state) && same_dimension;
  as_saved &= sums.size() == 3 && same_up_to_rounding(sums[2], weighted_loss());  // earlier versions had two
  merged_ = rows_of_duals();
  for (std::size_t i = 0; same_dimension && i < merged_.size(); ++i) {
    const bool same = same_up_to_rounding(saved[i], merged_[i]);
    if (same) merged_[i] = std::move(saved[i]);
    as_saved &= same;
  }
  begin_pass();
  gap_of_pass_ = sums[1];
  if (average_ && same_dimension) average_->restore(late, sums[0], clock[0]);
  if (average_ && !as_saved)
    average_->forget();  // over duals that are no dual point here, or of other features and losses
}

// An average of the one part's points and one of the other's are no average of points of both: it begins again.
StateArrays FrankWolfe::merged(const StateArrays& first, const StateArrays& second) const {
  StateArrays state = BlockProblem::merged(first, second);
  state["frank_wolfe_sizes"] = concatenated<std::uint64_t>(first, second, "frank_wolfe_sizes");
  state["frank_wolfe_indices"] = concatenated<std::uint64_t>(first, second, "frank_wolfe_indices");
  state["frank_wolfe_values"] = concatenated<double>(first, second, "frank_wolfe_values");
  state["frank_wolfe_late"] = std::vector<double>(state_array<double>(first, "frank_wolfe_late").size());
  const auto sums = concatenated<double>(first, second, "frank_wolfe_sums");
  if (sums.size() != 6) throw std::invalid_argument("'frank_wolfe_sums' of a state are not three numbers");
  state["frank_wolfe_sums"] = std::vector<double>{0, sums[1] + sums[4], sums[2] + sums[5]};
  state["frank_wolfe_clock"] = std::vector<std::uint64_t>{0};
  return state;
}

std::vector<MergedRow> FrankWolfe::rows_of_duals() {
  std::vector<MergedRow> result(merged_.size());
  Visit visit;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (blocks()[i].empty()) continue;
    blocks().open(i, visit);
    const Block& block = *visit.open.block;
    std::vector<double> sums(block.support().size());
    block.with_entries([&](const auto* positions, const auto* values) {
      for (const Block::Row& row : block.rows()) {
        for (std::size_t k = row.first_entry; k < row.first_entry + row.entry_count; ++k) {
          sums[positions[k]] += row.dual * values[k];
        }
      }
    });
    for (std::size_t k = 0; k < sums.size(); ++k) {
      if (sums[k] != 0) result[i].push_back(block.support()[k], sums[k]);
    }
  }
  return result;
}

namespace {

const LearnerRegistration<FrankWolfe> registered_frank_wolfe(
    "frank-wolfe", RowNumbers::costs,
    {parameter("inner_passes", &FrankWolfe::Parameters::inner_passes),
     parameter("averaged", &FrankWolfe::Parameters::averaged), parameter("memory", &FrankWolfe::Parameters::memory)});

}  // namespace

}  // namespace marginloom
