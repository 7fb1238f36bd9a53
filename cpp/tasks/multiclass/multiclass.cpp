#include "tasks/multiclass/multiclass.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/common.hpp"
#include "core/input_columns.hpp"
#include "core/kernels.hpp"

namespace marginloom {

struct MulticlassTask::Buffers final : ScoredScratch {
  std::vector<double> violations;  // one per class
  std::vector<ClassIndex> order;
};

namespace {

void check_costs(std::span<const double> costs, std::size_t class_count) {
  if (costs.empty()) return;
  require(costs.size() == class_count * class_count, "the cost matrix must have a row and a column per class");
  for (std::size_t k = 0; k < costs.size(); ++k) {
    require(costs[k] >= 0 && std::isfinite(costs[k]), "costs must be finite and not negative");
    require(k / class_count != k % class_count || costs[k] == 0, "the cost of the right class must be 0");
  }
}

// Moves the first `count` classes by falling value to the front; of equal ones the lowest comes first.
void order_best(std::vector<ClassIndex>& classes, std::span<const double> values, std::size_t count) {
  const auto better = [&](ClassIndex a, ClassIndex b) {
    return values[a] > values[b] || (values[a] == values[b] && a < b);
  };
  const auto middle = classes.begin() + static_cast<std::ptrdiff_t>(std::min(count, classes.size()));
  std::partial_sort(classes.begin(), middle, classes.end(), better);
}

std::vector<std::uint8_t> encoded(ClassIndex y) {
  std::vector<std::uint8_t> bytes(sizeof y);
  std::memcpy(bytes.data(), &y, sizeof y);
  return bytes;
}

}  // namespace

MulticlassTask::MulticlassTask(const InputData& inputs, std::span<const ClassIndex> gold, std::size_t class_count,
                               std::vector<double> costs)
    : inputs_(inputs), gold_(gold), class_count_(class_count), stride_(padded(class_count)), costs_(std::move(costs)) {
  require(class_count_ >= 1 && class_count_ <= std::numeric_limits<ClassIndex>::max() - row_alignment,
          "a multiclass task needs at least one class, and less than 2^32 of them");
  require(gold_.empty() || gold_.size() == size(), "there must be one class per example");
  require(std::ranges::all_of(gold_, [&](ClassIndex y) { return y < class_count_; }),
          "a right class is beyond the number of classes");
  check_costs(costs_, class_count_);
  if (inputs_.width() > std::numeric_limits<WeightIndex>::max() / stride_) {
    throw std::invalid_argument(std::to_string(inputs_.width()) + " features times " + std::to_string(stride_) +
                                " columns for the classes make more than the 4,294,967,295 weights that are possible");
  }
}

Capabilities MulticlassTask::capabilities() const {
  return {.gold = !gold_.empty(), .k_best = true, .lists_outputs = true, .factored = true};
}

std::unique_ptr<Scratch> MulticlassTask::make_scratch() const {
  auto buffers = std::make_unique<Buffers>();
  buffers->violations.resize(class_count_);
  buffers->order.reserve(class_count_);
  return buffers;
}

void MulticlassTask::predict_scored(std::size_t, const double* scores, int k, Scratch& scratch,
                                    std::vector<Output>& outputs) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  outputs.clear();
  const std::size_t best = first_maximum(scores, class_count_);
  const auto add = [&](std::size_t y) {
    outputs.push_back({encoded(static_cast<ClassIndex>(y)), scores[y], scores[best]});
  };
  if (k <= 1) return add(best);
  buffers.order.resize(class_count_);
  std::iota(buffers.order.begin(), buffers.order.end(), ClassIndex{0});
  const std::size_t count = std::min(static_cast<std::size_t>(k), class_count_);
  order_best(buffers.order, {scores, class_count_}, count);
  for (std::size_t j = 0; j < count; ++j) add(buffers.order[j]);
}

// Those of gold and of the outputs.
void MulticlassTask::score_outputs(std::size_t i, std::span<const ByteView> outputs, WeightView w,
                                   double* scores) const {
  if (whole_rows_are_faster(outputs.size() + 1, stride_)) return score(i, w, scores);
  constexpr std::size_t most = 64;
  std::size_t columns[most];
  std::size_t count = 0;
  columns[count++] = gold_[i];
  for (const ByteView output : outputs) {
    if (count == most) score_columns(inputs_, i, {columns, std::exchange(count, 0)}, w.data(), stride_, scores);
    columns[count++] = decode(output);
  }
  score_columns(inputs_, i, {columns, count}, w.data(), stride_, scores);
}

void MulticlassTask::add_score_steps(std::size_t i, std::span<const ScoreStep> steps, const WeightWriter& w) const {
  add_to_columns(inputs_, i, steps, 0, stride_, w);
}

void MulticlassTask::gather_scored(std::size_t i, std::span<const ByteView> outputs, const double* scores,
                                   std::span<double> values) const {
  const double right = scores[gold_[i]];
  for (std::size_t j = 0; j < outputs.size(); ++j) values[j] = right - scores[decode(outputs[j])];
}

void MulticlassTask::scatter_scored(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
                                    ScoreSteps& result) const {
  double sum = 0;
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    if (steps[j] == 0) continue;
    result.add(decode(outputs[j]), -steps[j]);
    sum += steps[j];
  }
  result.add(gold_[i], sum);
}

void MulticlassTask::products(std::size_t i, ByteView output, std::span<const ByteView> others, Scratch&,
                              std::span<double> result) const {
  const double norm = inputs_.squared_norm(i);
  for (std::size_t j = 0; j < others.size(); ++j) result[j] = decode(output) == decode(others[j]) ? 2 * norm : norm;
}

// The k best outputs, of which gold may be one, down to min_violation.
double MulticlassTask::find_scored(std::size_t i, const double* scores, const FindOptions& options, Scratch& scratch,
                                   CandidateSink& sink) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  const std::size_t right = gold_[i];
  std::vector<double>& violations = buffers.violations;
  const double* costs = costs_.empty() ? nullptr : costs_.data() + right * class_count_;
  for (std::size_t y = 0; y < class_count_; ++y) {
    violations[y] = scores[y] - scores[right] + options.loss_scale * (costs ? costs[y] : 1);
  }
  violations[right] = 0;
  const std::size_t best = first_maximum(violations.data(), class_count_);
  if (options.k <= 1) {
    if (best != right && violations[best] >= options.min_violation) emit(i, static_cast<ClassIndex>(best), sink);
    return violations[best];
  }
  std::vector<ClassIndex>& order = buffers.order;
  order.clear();
  for (std::size_t y = 0; y < class_count_; ++y) {
    if (violations[y] >= options.min_violation) order.push_back(static_cast<ClassIndex>(y));
  }
  const std::size_t count = std::min(order.size(), static_cast<std::size_t>(options.k));
  order_best(order, violations, count);
  for (std::size_t j = 0; j < count; ++j) {
    if (order[j] != right) emit(i, order[j], sink);
  }
  return violations[best];
}

void MulticlassTask::emit(std::size_t i, ClassIndex wrong, CandidateSink& sink) const {
  const ByteView output(reinterpret_cast<const std::uint8_t*>(&wrong), sizeof wrong);
  sink.accept({.example = i,
               .loss = cost(gold_[i], wrong),
               .squared_norm = wrong == gold_[i] ? 0 : 2 * inputs_.squared_norm(i),
               .key = output_key(output),
               .output = output,
               .difference = {},
               .implicit = true});
}

bool MulticlassTask::candidate(std::size_t i, ByteView output, Scratch&, CandidateSink& sink) const {
  if (output.size() != sizeof(ClassIndex)) {
    throw std::invalid_argument("an output of example " + std::to_string(i) + " has the wrong length");
  }
  const ClassIndex y = decode(output);
  if (y >= class_count_) {
    throw std::invalid_argument("an output of example " + std::to_string(i) + " is class " + std::to_string(y) +
                                " of " + std::to_string(class_count_));
  }
  emit(i, y, sink);
  return true;
}

}  // namespace marginloom
