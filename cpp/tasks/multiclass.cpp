#include "tasks/multiclass.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/common.hpp"

namespace marginloom {

struct MulticlassTask::Buffers final : Scratch {
  std::vector<double> scores;      // stride numbers per example of a batch
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
  return {.gold = !gold_.empty(), .k_best = true, .implicit = true, .lists_outputs = true, .factored = true};
}

std::unique_ptr<Scratch> MulticlassTask::make_scratch() const {
  auto buffers = std::make_unique<Buffers>();
  buffers->scores.resize(stride_);
  buffers->violations.resize(class_count_);
  buffers->order.reserve(class_count_);
  return buffers;
}

void MulticlassTask::predict(std::size_t i, WeightView w, int k, Scratch& scratch, std::vector<Output>& outputs) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  inputs_.scores(i, w.data(), stride_, buffers.scores.data());
  predict_from(buffers.scores.data(), k, buffers, outputs);
}

void MulticlassTask::predict_batch(std::span<const std::size_t> examples, WeightView w, int k, Scratch& scratch,
                                   std::span<std::vector<Output>> outputs) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  buffers.scores.resize(std::max(buffers.scores.size(), examples.size() * stride_));
  inputs_.scores(examples, w.data(), stride_, buffers.scores.data());
  for (std::size_t j = 0; j < examples.size(); ++j) {
    predict_from(buffers.scores.data() + j * stride_, k, buffers, outputs[j]);
  }
}

void MulticlassTask::predict_from(const double* scores, int k, Buffers& buffers, std::vector<Output>& outputs) const {
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

double MulticlassTask::find(std::size_t i, WeightView w, const FindOptions& options, Scratch& scratch,
                            CandidateSink& sink) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  inputs_.scores(i, w.data(), stride_, buffers.scores.data());
  return search(i, buffers.scores.data(), options, buffers, sink);
}

void MulticlassTask::find_batch(std::span<const std::size_t> examples, WeightView w,
                                std::span<const FindOptions> options, Scratch& scratch, CandidateSink& sink,
                                std::span<double> bounds) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  buffers.scores.resize(std::max(buffers.scores.size(), examples.size() * stride_));
  inputs_.scores(examples, w.data(), stride_, buffers.scores.data());
  for (std::size_t j = 0; j < examples.size(); ++j) {
    bounds[j] = search(examples[j], buffers.scores.data() + j * stride_, options[j], buffers, sink);
  }
}

void MulticlassTask::gather_scored(std::size_t i, std::span<const ByteView> outputs, const double* scores,
                                   std::span<double> values) const {
  const double right = scores[gold_[i]];
  for (std::size_t j = 0; j < outputs.size(); ++j) values[j] = right - scores[decode(outputs[j])];
}

void MulticlassTask::scatter_scored(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
                                    std::vector<ColumnChange>& changes) const {
  double sum = 0;
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    if (steps[j] == 0) continue;
    changes.push_back({decode(outputs[j]), -steps[j]});
    sum += steps[j];
  }
  changes.push_back({gold_[i], sum});
}

void MulticlassTask::gather(std::size_t i, std::span<const ByteView> outputs, WeightView w,
                            std::span<double> values) const {
  if (whole_rows(outputs.size() + 1)) {
    double scores[widest_stack];
    inputs_.scores(i, w.data(), stride_, scores);
    return gather_scored(i, outputs, scores, values);
  }
  for (std::size_t next = 0; next < outputs.size();) {
    next += in_groups(outputs.size() - next,
                      [&](auto count) { gather_columns<count()>(i, outputs.data() + next, w, values.data() + next); });
  }
}

// `count` outputs in one visit of x.
template <std::size_t count>
void MulticlassTask::gather_columns(std::size_t i, const ByteView* outputs, WeightView w, double* values) const {
  std::size_t columns[count];
  double sums[count] = {};
  for (std::size_t j = 0; j < count; ++j) columns[j] = decode(outputs[j]);
  const std::size_t right = gold_[i];
  inputs_.visit(i, [&](std::size_t feature, double value) __attribute__((always_inline)) {
    const double* row = w.data() + feature * stride_;
    for (std::size_t j = 0; j < count; ++j) sums[j] += value * (row[right] - row[columns[j]]);
  });
  for (std::size_t j = 0; j < count; ++j) values[j] = sums[j];
}

void MulticlassTask::scatter(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
                             const WeightWriter& w) const {
  if (w.plain() && whole_rows(outputs.size() + 1)) {
    double change[widest_stack];
    std::fill_n(change, stride_, 0.0);
    for (std::size_t j = 0; j < outputs.size(); ++j) {
      change[gold_[i]] += steps[j];
      change[decode(outputs[j])] -= steps[j];
    }
    return inputs_.add_to_rows(i, change, stride_, w.plain());
  }
  for (std::size_t next = 0; next < outputs.size();) {
    next += in_groups(outputs.size() - next,
                      [&](auto count) { scatter_columns<count()>(i, outputs.data() + next, steps.data() + next, w); });
  }
}

// Adds `count` outputs in one visit of x; gold's column gets the sum of the steps.
template <std::size_t count>
void MulticlassTask::scatter_columns(std::size_t i, const ByteView* outputs, const double* steps,
                                     const WeightWriter& w) const {
  std::size_t columns[count];
  double sum = 0;
  for (std::size_t j = 0; j < count; ++j) {
    columns[j] = decode(outputs[j]);
    sum += steps[j];
  }
  const std::size_t right = gold_[i];
  inputs_.visit(i, [&](std::size_t feature, double value) __attribute__((always_inline)) {
    const std::size_t row = feature * stride_;
    w.add(static_cast<WeightIndex>(row + right), sum * value);
    for (std::size_t j = 0; j < count; ++j) w.add(static_cast<WeightIndex>(row + columns[j]), -steps[j] * value);
  });
}

void MulticlassTask::products(std::size_t i, ByteView output, std::span<const ByteView> others, Scratch&,
                              std::span<double> result) const {
  const double norm = inputs_.squared_norm(i);
  for (std::size_t j = 0; j < others.size(); ++j) result[j] = decode(output) == decode(others[j]) ? 2 * norm : norm;
}

// The k best outputs, of which gold may be one, or every wrong one, down to min_violation.
double MulticlassTask::search(std::size_t i, const double* scores, const FindOptions& options, Scratch& scratch,
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
  if (options.k <= 1 && !options.every) {
    if (best != right && violations[best] >= options.min_violation) emit(i, static_cast<ClassIndex>(best), sink);
    return violations[best];
  }
  std::vector<ClassIndex>& order = buffers.order;
  order.clear();
  for (std::size_t y = 0; y < class_count_; ++y) {
    if (violations[y] >= options.min_violation) order.push_back(static_cast<ClassIndex>(y));
  }
  const std::size_t count = options.every ? order.size() : std::min(order.size(), static_cast<std::size_t>(options.k));
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

void MulticlassTask::scores(std::span<const std::size_t> examples, WeightView w, Scratch& scratch,
                            std::span<double> result) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  buffers.scores.resize(std::max(buffers.scores.size(), examples.size() * stride_));
  inputs_.scores(examples, w.data(), stride_, buffers.scores.data());
  for (std::size_t j = 0; j < examples.size(); ++j) {
    std::copy_n(buffers.scores.data() + j * stride_, class_count_, result.data() + j * class_count_);
  }
}

}  // namespace marginloom
