#include "tasks/multilabel/multilabel.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/common.hpp"
#include "core/few_numbers.hpp"
#include "core/input_columns.hpp"
#include "tasks/multilabel/multilabel_buffers.hpp"

namespace marginloom {

namespace {

std::size_t checked_count(std::size_t labels) {
  require(labels >= 1 && labels <= 1 << 20, "a multilabel task needs 1 to 1,048,576 labels");
  return labels;
}

// The bits beyond the last label must be 0, so that equal sets have equal bytes.
bool fits(ByteView set, std::size_t labels) {
  for (std::size_t byte = labels / 8; byte < set.size(); ++byte) {
    const unsigned used = byte == labels / 8 ? labels % 8 : 0;
    if (set[byte] >> used != 0) return false;
  }
  return true;
}

std::span<const std::uint8_t> checked_sets(std::span<const std::uint8_t> gold, std::size_t rows, std::size_t labels) {
  const std::size_t bytes = label_set_bytes(labels);
  require(gold.empty() || gold.size() == rows * bytes, "there must be one set of labels per row");
  for (std::size_t begin = 0; begin < gold.size(); begin += bytes) {
    require(fits(gold.subspan(begin, bytes), labels), "a right label is beyond the number of labels");
  }
  return gold;
}

void check_costs(const std::vector<double>& costs, std::size_t labels) {
  require(costs.empty() || costs.size() == labels, "there must be one cost per label");
  require(std::ranges::all_of(costs, [](double c) { return c >= 0 && std::isfinite(c); }),
          "label costs must be finite and not negative");
}

}  // namespace

MultilabelTask::MultilabelTask(const InputData& inputs, std::span<const std::uint8_t> gold, std::size_t label_count,
                               MultilabelOptions options)
    : inputs_(inputs),
      label_count_(checked_count(label_count)),
      stride_(padded(label_count)),
      part_size_(options.labels_per_slack == 0 ? label_count : std::min(options.labels_per_slack, label_count)),
      parts_((label_count + part_size_ - 1) / part_size_),
      gold_(checked_sets(gold, inputs_.size(), label_count), label_count, part_size_),
      options_(std::move(options)),
      pairs_(std::move(options_.pairs), label_count, {.relaxes = options_.relaxes, .sweeps = options_.sweeps}) {
  require(parts_ == 1 || pairs_.empty(), "labels that interact share their slack");
  if (inputs_.width() > (std::numeric_limits<WeightIndex>::max() - first_row()) / stride_) {
    throw std::invalid_argument(std::to_string(inputs_.width()) + " features times " + std::to_string(stride_) +
                                " columns for the labels make more than the 4,294,967,295 weights that are possible");
  }
  check_costs(options_.missing_costs, label_count);
  check_costs(options_.spurious_costs, label_count);
}

Capabilities MultilabelTask::capabilities() const {
  return {.gold = !gold_.empty(),
          .exact = pairs_.exact(),
          .k_best = pairs_.exact(),
          .factored = product_form().has_value()};
}

// The examples of one row would each need few of the scores W x, and all of them would be computed each time.
std::optional<ProductForm> MultilabelTask::product_form() const {
  if (!pairs_.empty() || parts_ > 1) return std::nullopt;
  return ProductForm{inputs_, label_count_, stride_};
}

std::optional<DecisionForm> MultilabelTask::decision_form() const {
  DecisionForm form{.weights = {inputs_, label_count_, stride_},
                    .independent = pairs_.empty(),
                    .columns_per_example = part_size_,
                    .examples_per_row = parts_,
                    .missing = options_.missing_costs,
                    .spurious = options_.spurious_costs};
  form.missing.resize(label_count_, 1.0);
  form.spurious.resize(label_count_, 1.0);
  return form;
}

void MultilabelTask::append_output(std::size_t i, std::span<const std::size_t> wrong,
                                   std::vector<std::uint8_t>& bytes) const {
  const ByteView truth = gold(i);
  bytes.insert(bytes.end(), truth.begin(), truth.end());
  std::uint8_t* last = bytes.data() + bytes.size() - truth.size();
  for (const std::size_t label : wrong) last[label / 8] ^= static_cast<std::uint8_t>(1u << (label % 8));
}

std::unique_ptr<Scratch> MultilabelTask::make_scratch() const {
  auto buffers = std::make_unique<Buffers>();
  buffers->gains.resize(part_size_);
  buffers->set.resize(bytes_per_output());
  return buffers;
}

void MultilabelTask::score(std::size_t i, WeightView w, double* scores) const {
  std::copy_n(w.data(), pairs_.size(), scores + first_pair());
  const double* rows = w.data() + first_row() + first_label(i);
  if (parts_ == 1) return inputs_.scores(i, rows, stride_, scores);
  for (std::size_t first = 0; first < labels_of(i); first += row_alignment) {
    double sums[row_alignment] = {};
    const std::size_t count = std::min(row_alignment, labels_of(i) - first);
    const double* columns = rows + first;
    if (count == row_alignment) {
      inputs_.visit(row_of(i), [&](std::size_t feature, double value) {
        for (std::size_t c = 0; c < row_alignment; ++c) sums[c] += value * columns[feature * stride_ + c];
      });
    } else {
      inputs_.visit(row_of(i), [&](std::size_t feature, double value) {
        for (std::size_t c = 0; c < count; ++c) sums[c] += value * columns[feature * stride_ + c];
      });
    }
    std::copy_n(sums, row_alignment, scores + first);
  }
}

void MultilabelTask::score_batch(std::span<const std::size_t> examples, WeightView w, double* scores) const {
  if (product_form()) return inputs_.scores(examples, w.data(), stride_, scores);
  if (part_size_ > 1 || !pairs_.empty()) return ScoredTask::score_batch(examples, w, scores);
  for (std::size_t j = 0; j < examples.size();) {
    std::size_t end = j + 1;
    while (end < examples.size() && end < j + row_alignment && examples[end] == examples[end - 1] + 1 &&
           row_of(examples[end]) == row_of(examples[j])) {
      ++end;
    }
    score_neighbours(examples[j], end - j, w, scores + j * score_count());
    j = end;
  }
}

// Of examples of one label each that follow each other in a row, row_alignment at most.
void MultilabelTask::score_neighbours(std::size_t first, std::size_t count, WeightView w, double* scores) const {
  double sums[row_alignment] = {};
  const double* columns = w.data() + first_row() + first_label(first);
  inputs_.visit(row_of(first), [&](std::size_t feature, double value) {
    const double* weights = columns + feature * stride_;
    for (std::size_t c = 0; c < count; ++c) sums[c] += value * weights[c];
  });
  for (std::size_t c = 0; c < count; ++c) scores[c * score_count()] = sums[c];
}

// Calls take(score) for the best sets, best first, each in buffers.set, until it returns false; returns a score that no
// set exceeds.
template <class Take>
double MultilabelTask::decode_best(std::span<const double> gains, const double* pair_weights, int k, Buffers& buffers,
                                   Take take) const {
  if (!pairs_.empty()) {
    const auto count = static_cast<std::size_t>(std::max(k, 1));
    const PairOptimum best = pairs_.maximise(gains, pair_weights, count, buffers.pairs, buffers.set);
    bool wanted = take(best.score) && count > 1;
    while (wanted) {
      const auto score = pairs_.next(buffers.pairs, buffers.set);
      wanted = score && take(*score);
    }
    return best.bound;
  }
  KBestSets& sets = buffers.k_best;
  sets.start(gains, static_cast<std::size_t>(std::max(k, 1)));
  double best = 0;
  for (bool first = true; sets.next(); first = false) {
    if (first) best = sets.score();
    sets.write(buffers.set);
    if (!take(sets.score())) break;
  }
  return best;
}

void MultilabelTask::predict_scored(std::size_t i, const double* scores, int k, Scratch& scratch,
                                    std::vector<Output>& outputs) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  outputs.clear();
  const double bound = decode_best({scores, labels_of(i)}, scores + first_pair(), k, buffers, [&](double score) {
    outputs.push_back({buffers.set, score, 0});
    return true;
  });
  for (Output& output : outputs) output.upper_bound = bound;
}

double MultilabelTask::find_scored(std::size_t i, const double* scores, const FindOptions& options, Scratch& scratch,
                                   CandidateSink& sink) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  const ByteView truth = gold(i);
  const auto gains = std::span(buffers.gains).first(labels_of(i));
  const double* pair_weights = scores + first_pair();
  // A right label that is there loses the cost of missing it, a wrong one gains the cost of adding it: then the score
  // of a set is its violation plus what gold scores.
  double right = pairs_.score(truth, pair_weights);
  for (std::size_t l = 0; l < gains.size(); ++l) {
    const bool present = has_label(truth, l);
    const double cost = options.loss_scale * this->cost(first_label(i) + l, present);
    gains[l] = scores[l] + (present ? -cost : cost);
    if (present) right += gains[l];
  }
  const double best = decode_best(gains, pair_weights, options.k, buffers, [&](double score) {
    if (!(score - right >= options.min_violation)) return false;
    if (!std::ranges::equal(buffers.set, truth)) emit(i, buffers, sink);
    return true;
  });
  return std::max(best - right, 0.0);
}

// Hands over buffers.set as a candidate.
void MultilabelTask::emit(std::size_t i, Buffers& buffers, CandidateSink& sink) const {
  Candidate result;
  result.example = i;
  result.key = output_key(buffers.set);
  result.output = buffers.set;
  result.implicit = true;
  std::size_t differing = 0;
  visit_differing_labels(gold(i), buffers.set, [&](std::size_t label, bool missing) {
    result.loss += cost(first_label(i) + label, missing);
    ++differing;
  });
  result.squared_norm = static_cast<double>(differing) * inputs_.squared_norm(row_of(i));
  pairs_.visit_difference(gold(i), buffers.set, [&](std::size_t, double) { result.squared_norm += 1; });
  sink.accept(result);
}

bool MultilabelTask::candidate(std::size_t i, ByteView output, Scratch& scratch, CandidateSink& sink) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  if (output.size() != bytes_per_output() || !fits(output, labels_of(i))) {
    throw std::invalid_argument("an output of example " + std::to_string(i) + " is not a set of " +
                                std::to_string(labels_of(i)) + " labels");
  }
  std::ranges::copy(output, buffers.set.begin());
  emit(i, buffers, sink);
  return true;
}

void MultilabelTask::gather_scored(std::size_t i, std::span<const ByteView> outputs, const double* scores,
                                   std::span<double> values) const {
  const double* pair_weights = scores + first_pair();
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    double sum = 0;
    visit_differing_labels(gold(i), outputs[j],
                           [&](std::size_t label, bool missing) { sum += missing ? scores[label] : -scores[label]; });
    pairs_.visit_difference(gold(i), outputs[j],
                            [&](std::size_t pair, double sign) { sum += sign * pair_weights[pair]; });
    values[j] = sum;
  }
}

// The steps on a score add up before any weight is touched; labels come before pairs.
void MultilabelTask::scatter_scored(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
                                    ScoreSteps& result) const {
  FewNumbers numbers(score_count());
  double* changes = numbers.data();
  std::fill_n(changes, score_count(), 0.0);
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    if (steps[j] == 0) continue;
    visit_differing_labels(gold(i), outputs[j],
                           [&](std::size_t label, bool missing) { changes[label] += missing ? steps[j] : -steps[j]; });
    pairs_.visit_difference(gold(i), outputs[j],
                            [&](std::size_t pair, double sign) { changes[first_pair() + pair] += sign * steps[j]; });
  }
  for (std::size_t s = 0; s < score_count(); ++s) {
    if (changes[s] != 0) result.add(s, changes[s]);
  }
}

void MultilabelTask::add_score_steps(std::size_t i, std::span<const ScoreStep> steps, const WeightWriter& w) const {
  const auto pairs = std::ranges::find_if(steps, [&](const ScoreStep& step) { return step.score >= first_pair(); });
  const auto labels = static_cast<std::size_t>(pairs - steps.begin());
  add_to_columns(inputs_, row_of(i), steps.first(labels), first_label(i), stride_, {w.weights + first_row(), w.atomic});
  for (const ScoreStep& step : steps.subspan(labels)) {
    w.add(static_cast<WeightIndex>(step.score - first_pair()), step.value);
  }
}

// A label that differs from gold in both sets does so with the same sign.
void MultilabelTask::products(std::size_t i, ByteView output, std::span<const ByteView> others, Scratch&,
                              std::span<double> result) const {
  const ByteView truth = gold(i);
  for (std::size_t j = 0; j < others.size(); ++j) {
    int common = 0;
    for (std::size_t first = 0; first < truth.size(); first += 8) {
      const std::uint64_t right = label_word(truth, first);
      common += std::popcount((right ^ label_word(output, first)) & (right ^ label_word(others[j], first)));
    }
    result[j] = common * inputs_.squared_norm(row_of(i));
    if (!pairs_.empty()) result[j] += pairs_.common_differences(truth, output, others[j]);
  }
}

}  // namespace marginloom
