#include "tasks/relations/relations_buffers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/common.hpp"
#include "core/entry_sort.hpp"
#include "core/interruption.hpp"
#include "core/kernels.hpp"
#include "core/stopwatch.hpp"

namespace marginloom {

namespace {

void check_rows(const FeatureRows& rows, std::size_t count, std::size_t features) {
  require(rows.rows.size() == count + 1 && rows.rows.front() == 0 && std::ranges::is_sorted(rows.rows) &&
              rows.rows.back() == rows.features.size(),
          "every span and every pair needs a row of features");
  require(std::ranges::all_of(rows.features, [=](std::uint32_t feature) { return feature < features; }),
          "a feature is beyond their number");
}

bool is_loss(double loss) {
  return loss >= 0 && std::isfinite(loss);
}

void write(const JointOutput& output, std::vector<std::uint8_t>& bytes) {
  bytes.assign(output.types.begin(), output.types.end());
  bytes.insert(bytes.end(), output.labels.begin(), output.labels.end());
}

}  // namespace

RelationsTask::RelationsTask(const RelationsData& data, TypeTable table, std::size_t span_features,
                             std::size_t pair_features, RelationsLosses losses,
                             std::shared_ptr<const JointSolver> solver)
    : data_(data),
      table_(std::move(table)),
      span_weights_{span_features, table_.types()},
      pair_weights_{pair_features, table_.labels()},
      losses_(losses),
      solver_(std::move(solver)) {
  check_data();
}

void RelationsTask::check_data() {
  const auto& offsets = data_.sentences;
  require(!offsets.empty() && offsets.front() == 0 && std::ranges::is_sorted(offsets),
          "sentence offsets must start with 0 and ascend");
  first_pair_.push_back(0);
  for (std::size_t i = 0; i < size(); ++i) {
    first_pair_.push_back(first_pair_.back() + spans(i) * (std::max<std::size_t>(spans(i), 1) - 1));
  }
  check_rows(data_.spans, offsets.back(), span_weights_.count);
  check_rows(data_.pairs, first_pair_.back(), pair_weights_.count);
  require(dimension() <= std::numeric_limits<WeightIndex>::max(), "there can be at most 4,294,967,295 weights");
  require(is_loss(losses_.entity) && is_loss(losses_.pair) && is_loss(losses_.missed),
          "losses must be finite and not negative");
  if (!data_.gold) return;
  require(data_.types.size() == offsets.back() && data_.labels.size() == first_pair_.back(),
          "every span needs its type and every pair its label");
  for (std::size_t i = 0; i < size(); ++i) {
    require(fits(gold_types(i), gold_labels(i)),
            "the gold relations of sentence " + std::to_string(i) + " are not what the table of types allows");
  }
}

// Whether these are numbers of types and labels that the table allows.
bool RelationsTask::fits(std::span<const std::uint8_t> types, std::span<const std::uint8_t> labels) const {
  if (!std::ranges::all_of(types, [&](std::uint8_t type) { return type < table_.types(); })) return false;
  std::size_t pair = 0;
  for (std::size_t a = 0; a < types.size(); ++a) {
    for (std::size_t b = 0; b < types.size(); ++b) {
      if (a == b) continue;
      const std::size_t label = labels[pair++];
      if (label >= table_.labels() || !table_.allows(label, types[a], types[b])) return false;
    }
  }
  return true;
}

Capabilities RelationsTask::capabilities() const {
  return {.gold = data_.gold,
          .exact = cut_off_.load(std::memory_order_relaxed) == 0,
          .bounded = true,
          .needs_gil = solver_->needs_gil()};
}

std::unique_ptr<Scratch> RelationsTask::make_scratch() const {
  auto buffers = std::make_unique<Buffers>();
  buffers->solver = solver_->make_scratch();
  return buffers;
}

double RelationsTask::work(std::size_t i) const {
  return 1 + static_cast<double>(spans(i) + pairs(i));
}

void RelationsTask::score(std::size_t i, WeightView w, JointScores& scores) const {
  const std::size_t span_stride = span_weights_.stride();
  const std::size_t pair_stride = pair_weights_.stride();
  scores.spans = spans(i);
  scores.type_stride = span_stride;
  scores.pair_stride = pair_stride;
  scores.types.assign(scores.spans * span_stride, 0.0);
  scores.pairs.assign(pairs(i) * pair_stride, 0.0);
  const Kernels& kernel = kernels();
  for (std::size_t a = 0; a < scores.spans; ++a) {
    const auto row = data_.spans.of(data_.sentences[i] + a);
    kernel.add_rows(w.data(), row.data(), row.size(), span_stride, scores.types.data() + a * span_stride);
  }
  const double* weights = w.data() + span_weights_.size();
  for (std::size_t p = 0; p < pairs(i); ++p) {
    const auto row = data_.pairs.of(first_pair_[i] + p);
    count_steps(pair_stride + row.size());
    kernel.add_rows(weights, row.data(), row.size(), pair_stride, scores.pairs.data() + p * pair_stride);
  }
}

void RelationsTask::add_loss(std::size_t i, double scale, JointScores& scores) const {
  const auto types = gold_types(i);
  for (std::size_t a = 0; a < types.size(); ++a) {
    double* row = scores.types.data() + a * scores.type_stride;
    for (std::size_t t = 0; t < table_.types(); ++t) row[t] += t == types[a] ? 0 : scale * losses_.entity;
  }
  const auto labels = gold_labels(i);
  for (std::size_t p = 0; p < labels.size(); ++p) {
    double* row = scores.pairs.data() + p * scores.pair_stride;
    const double loss = scale * pair_loss(labels[p]);
    for (std::size_t label = 0; label < table_.labels(); ++label) row[label] += label == labels[p] ? 0 : loss;
  }
}

JointOptimum RelationsTask::search(Buffers& buffers) const {
  const JointOptimum found = solver_->solve(table_, buffers.scores, *buffers.solver, buffers.found);
  searches_.fetch_add(1, std::memory_order_relaxed);
  if (!found.complete) cut_off_.fetch_add(1, std::memory_order_relaxed);
  if (found.nodes == 0) return found;
  nodes_.fetch_add(found.nodes, std::memory_order_relaxed);
  std::uint64_t most = most_nodes_.load(std::memory_order_relaxed);
  while (most < found.nodes && !most_nodes_.compare_exchange_weak(most, found.nodes, std::memory_order_relaxed)) {
  }
  return found;
}

RelationsTask::Searches RelationsTask::searches() const {
  return {searches_.load(), cut_off_.load(), nodes_.load(), most_nodes_.load()};
}

RelationsTask::Solved RelationsTask::solve(std::size_t i, WeightView w, double loss_scale) const {
  Buffers buffers;
  buffers.solver = solver_->make_scratch();
  score(i, w, buffers.scores);
  if (loss_scale != 0) add_loss(i, loss_scale, buffers.scores);
  Stopwatch watch;
  const JointOptimum found = search(buffers);
  return {std::move(buffers.found), found, watch.lap()};
}

void RelationsTask::predict(std::size_t i, WeightView w, int, Scratch& scratch, std::vector<Output>& outputs) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  score(i, w, buffers.scores);
  const JointOptimum found = search(buffers);
  outputs.resize(1);
  write(buffers.found, outputs[0].bytes);
  outputs[0].score = found.score;
  outputs[0].upper_bound = found.bound;
}

double RelationsTask::find(std::size_t i, WeightView w, const FindOptions& options, Scratch& scratch,
                           CandidateSink& sink) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  if (spans(i) == 0) return 0;
  score(i, w, buffers.scores);
  const auto types = gold_types(i);
  const auto labels = gold_labels(i);
  double gold = 0;
  for (std::size_t a = 0; a < types.size(); ++a) gold += buffers.scores.type(a, types[a]);
  for (std::size_t p = 0; p < labels.size(); ++p)
    gold += buffers.scores.pairs[p * buffers.scores.pair_stride + labels[p]];
  if (options.loss_scale != 0) add_loss(i, options.loss_scale, buffers.scores);
  const JointOptimum found = search(buffers);
  const bool is_gold =
      std::ranges::equal(buffers.found.types, types) && std::ranges::equal(buffers.found.labels, labels);
  if (!is_gold && found.score - gold >= options.min_violation) emit(i, buffers, sink);
  return std::max(found.bound - gold, 0.0);
}

// Hands over the output in buffers.found. Only spans and pairs that differ from gold contribute.
void RelationsTask::emit(std::size_t i, Buffers& buffers, CandidateSink& sink) const {
  Candidate result;
  result.example = i;
  buffers.difference.clear();
  const auto add = [&](std::span<const std::uint32_t> row, std::size_t first, std::size_t stride, std::size_t gold,
                       std::size_t other) {
    for (const std::uint32_t feature : row) {
      buffers.difference.push_back({static_cast<WeightIndex>(first + feature * stride + gold), 1.0});
      buffers.difference.push_back({static_cast<WeightIndex>(first + feature * stride + other), -1.0});
    }
  };
  const auto types = gold_types(i);
  for (std::size_t a = 0; a < types.size(); ++a) {
    if (buffers.found.types[a] == types[a]) continue;
    result.loss += losses_.entity;
    add(data_.spans.of(data_.sentences[i] + a), 0, span_weights_.stride(), types[a], buffers.found.types[a]);
  }
  const auto labels = gold_labels(i);
  for (std::size_t p = 0; p < labels.size(); ++p) {
    if (buffers.found.labels[p] == labels[p]) continue;
    result.loss += pair_loss(labels[p]);
    add(data_.pairs.of(first_pair_[i] + p), span_weights_.size(), pair_weights_.stride(), labels[p],
        buffers.found.labels[p]);
  }
  write(buffers.found, buffers.output);
  result.output = buffers.output;
  result.key = output_key(buffers.output);
  coalesce(buffers.difference, buffers.spare);
  for (const Entry& entry : buffers.difference) result.squared_norm += entry.value * entry.value;
  result.difference = buffers.difference;
  sink.accept(result);
}

bool RelationsTask::candidate(std::size_t i, ByteView output, Scratch& scratch, CandidateSink& sink) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  if (output.size() != spans(i) + pairs(i)) {
    throw std::invalid_argument("an output of sentence " + std::to_string(i) + " has the wrong length");
  }
  const ByteView types = output.first(spans(i));
  const ByteView labels = output.subspan(spans(i));
  const auto is_below = [](std::size_t limit) { return [=](std::uint8_t number) { return number < limit; }; };
  if (!std::ranges::all_of(types, is_below(table_.types())) ||
      !std::ranges::all_of(labels, is_below(table_.labels()))) {
    throw std::invalid_argument("an output of sentence " + std::to_string(i) + " has a number that is no label's");
  }
  if (!fits(types, labels)) return false;
  buffers.found.types.assign(types.begin(), types.end());
  buffers.found.labels.assign(labels.begin(), labels.end());
  emit(i, buffers, sink);
  return true;
}

}  // namespace marginloom
