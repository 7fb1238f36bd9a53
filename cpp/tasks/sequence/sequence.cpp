#include "tasks/sequence/sequence.hpp"

#include "core/common.hpp"
#include "core/entry_sort.hpp"
#include "core/few_numbers.hpp"
#include "core/interruption.hpp"
#include "core/sparse_product.hpp"
#include "tasks/sequence/sequence_buffers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace marginloom {

namespace {

constexpr double impossible = -std::numeric_limits<double>::infinity();

template <class T>
void require_offsets(std::span<const T> offsets, std::size_t end, const char* what) {
  require(!offsets.empty() && offsets.front() == 0 && offsets.back() == end && std::ranges::is_sorted(offsets), what);
}

void check(const SequenceData& data, const SequenceOptions& options) {
  require(data.feature_count <= std::numeric_limits<WeightIndex>::max(),
          "a task has at most 4,294,967,295 features and as many weights");
  require(data.label_count >= 1 && data.label_count <= 65536, "a sequence task needs 1 to 65,536 labels");
  require(!data.sentences.empty(), "sentence offsets must start with 0 and ascend");
  const std::size_t token_count = data.sentences.back();
  require_offsets(data.sentences, token_count, "sentence offsets must start with 0 and ascend");
  if (data.dense) {
    require(data.feature_count == 0 ? data.values.empty()
                                    : data.values.size() % data.feature_count == 0 &&
                                          data.values.size() / data.feature_count == token_count,
            "a dense array needs a row for every token");
  } else {
    require(data.tokens.size() == token_count + 1, "token offsets must be one more than there are tokens");
    require_offsets(data.tokens, data.features.size(),
                    "token offsets must start with 0, ascend and end at the last feature");
    require(data.values.empty() || data.values.size() == data.features.size(), "features and values differ in length");
    require(std::ranges::all_of(data.features, [&](std::uint32_t f) { return f < data.feature_count; }),
            "a feature is beyond the number of features");
  }
  require(std::ranges::all_of(data.values, [](float v) { return std::isfinite(v); }),
          "a feature value is NaN or infinite");
  require(data.gold.empty() || data.gold.size() == token_count, "there must be one gold label per token");
  require(std::ranges::all_of(data.gold, [&](LabelIndex y) { return y < data.label_count; }),
          "a gold label is beyond the number of labels");
  require(options.label_costs.empty() || options.label_costs.size() == data.label_count,
          "there must be one cost per label");
  require(options.order == 1 || options.order == 2, "the order of a chain is 1 or 2");
  require(options.order == 2 || options.beam == 0, "a beam looks two labels back");
  require(options.order == 1 || data.histories, "a chain of order 2 needs a table of histories");
  require(options.beam == 0 || !data.dense, "a beam needs sparse features");
  require(std::ranges::all_of(options.label_costs, [](double c) { return c >= 0 && std::isfinite(c); }),
          "label costs must be finite and not negative");
}

}  // namespace

void SequenceTask::no_labelling(std::size_t i) {
  throw std::domain_error("no labelling of sentence " + std::to_string(i) + " satisfies the constraints");
}

// Minus infinity is the score of what is forbidden; weights beyond all measure make other scores that are not finite.
void SequenceTask::check_score(double best, std::size_t i) const {
  if (std::isfinite(best)) return;
  if (best == -std::numeric_limits<double>::infinity() && !forbidden_.empty()) no_labelling(i);
  throw std::overflow_error("the scores of sentence " + std::to_string(i) +
                            " exceed double precision; divide the features by their scale");
}

SequenceTask::SequenceTask(const SequenceData& data, SequenceOptions options)
    : Task(data.dense ? this : nullptr), data_(data), options_(std::move(options)), stride_(padded(data.label_count)) {
  check(data_, options_);
  if (dimension() > std::numeric_limits<WeightIndex>::max()) {
    throw std::invalid_argument("features times labels make " + std::to_string(dimension()) +
                                " weights, more than the 4,294,967,295 that are possible");
  }
  for (const auto& [from, to] : options_.forbidden) {
    const auto known = [&](std::uint32_t label) {
      return label < data_.label_count || label == SequenceOptions::boundary;
    };
    require(known(from) && known(to), "a forbidden pair has a label beyond the number of labels");
  }
  note_forbidden();
  check_histories();
  check_kinds();
  if (options_.beam > 0) note_dead_ends();
  if (data_.gold.empty()) return;
  for (std::size_t i = 0; i < size(); ++i) {
    require(allows(gold(i)) && are_allowed(i, gold(i)), "the gold labels break the constraints");
  }
}

void SequenceTask::note_forbidden() {
  if (options_.forbidden.empty()) return;
  const std::size_t side = data_.label_count + 1;
  const auto place = [&](std::uint32_t label) { return std::min<std::size_t>(label, side - 1); };
  forbidden_.resize(side * side);
  for (const auto& [from, to] : options_.forbidden) forbidden_[place(from) * side + place(to)] = true;
}

void SequenceTask::check_histories() const {
  const auto& offsets = data_.observation_offsets;
  require(data_.histories || offsets.empty(), "observations need a table of histories");
  if (!data_.histories) return;
  const LabelHistories& histories = *data_.histories;
  require(histories.label_count() == data_.label_count, "the histories are those of another number of labels");
  require(options_.order == 2 ||
              (!histories.has(LabelHistories::Reach::before_that) && !histories.has(LabelHistories::Reach::both)),
          "a tagger of first order reads one label before a token");
  if (offsets.empty()) return;
  require(offsets.size() == data_.sentences.back() + 1, "observation offsets must be one more than there are tokens");
  require_offsets(offsets, data_.observations.size(),
                  "observation offsets must start with 0, ascend and end at the last observation");
  require(std::ranges::all_of(data_.observations, [&](std::uint32_t o) { return o < histories.observation_count(); }),
          "an observation is beyond the table of histories");
}

bool SequenceTask::allows(std::span<const LabelIndex> labels, bool is_prefix) const {
  if (forbidden_.empty() || labels.empty()) return true;
  const std::size_t boundary = data_.label_count;
  const std::size_t side = boundary + 1;
  std::size_t previous = boundary;
  for (const LabelIndex label : labels) {
    if (forbidden_[previous * side + label]) return false;
    previous = label;
  }
  return is_prefix || !forbidden_[previous * side + boundary];
}

Capabilities SequenceTask::capabilities() const {
  if (options_.beam == 0) return {.gold = !data_.gold.empty(), .k_best = options_.order == 1};
  return {.gold = !data_.gold.empty(), .exact = false, .bounded = false, .loss_augmented = false, .prefixes = true};
}

std::unique_ptr<Scratch> SequenceTask::make_scratch() const {
  auto buffers = std::make_unique<Buffers>();
  if (data_.dense && !data_.gold.empty()) buffers->dense_difference.resize(dimension());
  return buffers;
}

void SequenceTask::encode(std::span<const LabelIndex> labels, std::vector<std::uint8_t>& bytes) const {
  bytes.clear();
  for (const LabelIndex label : labels) {
    bytes.push_back(static_cast<std::uint8_t>(label & 255));
    if (bytes_per_label() == 2) bytes.push_back(static_cast<std::uint8_t>(label >> 8));
  }
}

// scores[t][c] = sum of the weights of token t's features for label c, plus start and end.
void SequenceTask::score_tokens(std::size_t i, WeightView w, Buffers& buffers) const {
  const std::size_t count = length(i);
  buffers.scores.assign(count * stride_, 0.0);
  const Kernels& kernel = kernels();
  const double* rows = w.data() + first_feature_row() * stride_;
  for (std::size_t t = 0; t < count; ++t) {
    if (t % 256 == 255) count_steps(256 * stride_);
    const std::size_t token = data_.sentences[i] + t;
    double* scores = buffers.scores.data() + t * stride_;
    if (data_.dense) {
      kernel.add_scaled_rows(rows, nullptr, data_.values.data() + token * data_.feature_count, data_.feature_count,
                             stride_, scores);
      continue;
    }
    const std::size_t first = data_.tokens[token];
    const std::size_t features = data_.tokens[token + 1] - first;
    if (data_.values.empty()) {
      kernel.add_rows(rows, data_.features.data() + first, features, stride_, scores);
    } else {
      kernel.add_scaled_rows(rows, data_.features.data() + first, data_.values.data() + first, features, stride_,
                             scores);
    }
  }
  if (options_.start_end) {
    const std::uint32_t start = static_cast<std::uint32_t>(data_.label_count);
    const std::uint32_t end = start + 1;
    kernel.add_rows(w.data(), &start, 1, stride_, buffers.scores.data());
    kernel.add_rows(w.data(), &end, 1, stride_, buffers.scores.data() + (count - 1) * stride_);
  }
  if (!data_.kinds.empty()) mask_labels(i, buffers.scores);
}

bool SequenceTask::copies_transitions(const Buffers& buffers) const {
  return !options_.forbidden.empty() || buffers.copies_transitions || data_.histories != nullptr;
}

// Copies the transitions of w to buffers.transitions, where what is forbidden scores minus infinity; what must not come
// first or last is marked in buffers.scores.
void SequenceTask::copy_transitions(std::size_t i, WeightView w, Buffers& buffers) const {
  constexpr std::uint32_t boundary = SequenceOptions::boundary;
  buffers.transitions.assign(w.begin(), w.begin() + static_cast<std::ptrdiff_t>(data_.label_count * stride_));
  double* last = buffers.scores.data() + (length(i) - 1) * stride_;
  for (const auto& [from, to] : options_.forbidden) {
    if (from == boundary && to == boundary) continue;
    if (from == boundary) {
      buffers.scores[to] = impossible;
    } else if (to == boundary) {
      last[from] = impossible;
    } else {
      buffers.transitions[from * stride_ + to] = impossible;
    }
  }
}

// What the observations of every token add to the transitions into its labels.
void SequenceTask::note_local_transitions(std::size_t i, WeightView w, Buffers& buffers) const {
  const LabelHistories& histories = *data_.histories;
  const double* weights = w.data() + first_combination();
  LocalTransitions& local = buffers.local;
  local.clear();
  local.end_token();  // before the first one there is no label
  for (std::size_t t = 1; t < length(i); ++t) {
    for_observations(i, t, [&](std::size_t observation) {
      const auto [first, last] = histories.combinations(observation);
      for (std::size_t j = first; j < last; ++j) {
        const double weight = weights[j];
        if (weight == 0) continue;
        local.changes.push_back({static_cast<std::uint16_t>(histories.only_before(j)),
                                 static_cast<std::uint16_t>(histories.label(j)), weight});
      }
    });
    local.end_token();
    count_steps(local.of(t).size() + 1);
  }
}

// Viterbi's way forward over buffers.scores.
ChainScores SequenceTask::score_prefixes(std::size_t i, WeightView w, Buffers& buffers) const {
  const std::size_t labels = data_.label_count;
  if (!copies_transitions(buffers)) return buffers.viterbi.score_prefixes(buffers.scores, w.data(), labels, stride_);
  copy_transitions(i, w, buffers);
  double* transitions = buffers.transitions.data();
  if (!data_.histories) return buffers.viterbi.score_prefixes(buffers.scores, transitions, labels, stride_);
  note_local_transitions(i, w, buffers);
  return buffers.viterbi.score_prefixes(buffers.scores, transitions, labels, stride_, buffers.local);
}

// The best path by exact search, in buffers.labels; returns its score.
double SequenceTask::best_path(std::size_t i, WeightView w, Buffers& buffers) const {
  if (options_.order == 2) return buffers.pairs.best_path(history_chain(i, w, buffers), buffers.labels);
  return buffers.viterbi.best_path(score_prefixes(i, w, buffers), buffers.labels);
}

// Calls take(score) for the k best paths, best first, each in buffers.labels, until it returns false; returns the best
// score.
template <class Take>
double SequenceTask::decode_best(std::size_t i, WeightView w, int k, Buffers& buffers, Take take) const {
  if (k <= 1) {
    const double score = best_path(i, w, buffers);
    check_score(score, i);
    take(score);
    return score;
  }
  KBestPaths& paths = buffers.k_best;
  paths.start(score_prefixes(i, w, buffers), static_cast<std::size_t>(k));
  if (!paths.next()) no_labelling(i);
  const double best = paths.score();
  do {
    buffers.labels.assign(paths.labels().begin(), paths.labels().end());
  } while (take(paths.score()) && paths.next());
  return best;
}

// What the combinations of the gold labels score.
double SequenceTask::history_score(std::size_t i, WeightView w) const {
  const LabelHistories& histories = *data_.histories;
  const auto truth = gold(i);
  double score = 0;
  for (std::size_t t = 1; t < truth.size(); ++t) {
    for_observations(i, t, [&](std::size_t observation) {
      const std::uint32_t history =
          histories.history(histories.reach(observation), truth[t < 2 ? 0 : t - 2], truth[t - 1]);
      const std::size_t combination = histories.find(observation, history, truth[t]);
      if (combination != LabelHistories::none) score += w[first_combination() + combination];
    });
  }
  return score;
}

double SequenceTask::gold_score(std::size_t i, WeightView w, const Buffers& buffers) const {
  const auto truth = gold(i);
  double score = buffers.scores[truth[0]];
  for (std::size_t t = 1; t < truth.size(); ++t) {
    score += buffers.scores[t * stride_ + truth[t]] + w[truth[t - 1] * stride_ + truth[t]];
  }
  if (data_.histories) score += history_score(i, w);
  return score;
}

void SequenceTask::predict(std::size_t i, WeightView w, int k, Scratch& scratch, std::vector<Output>& outputs) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  buffers.copies_transitions = false;
  outputs.clear();
  if (length(i) == 0) {
    outputs.emplace_back();
    return;
  }
  score_tokens(i, w, buffers);
  if (options_.beam > 0) return predict_by_beam(i, w, buffers, outputs);
  decode_best(i, w, k, buffers, [&](double score) {
    Output& output = outputs.emplace_back();
    output.score = score;
    output.upper_bound = outputs.front().score;
    encode(buffers.labels, output.bytes);
    return true;
  });
}

double SequenceTask::find(std::size_t i, WeightView w, const FindOptions& options, Scratch& scratch,
                          CandidateSink& sink) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  // Every token reads all of them. A copy that does not fit the nearest cache would cost more than it saves.
  constexpr std::size_t nearest_cache = 32 * 1024;
  buffers.copies_transitions = options.in_motion && data_.label_count * stride_ * sizeof(double) <= nearest_cache;
  if (length(i) == 0) return 0;
  score_tokens(i, w, buffers);
  if (options_.beam > 0) return find_by_beam(i, w, buffers, sink);
  const double right = gold_score(i, w, buffers);
  const auto truth = gold(i);
  double greatest_loss = 0;
  if (options.loss_scale != 0) {
    // Taking the loss off the right label ranks paths as adding it to all the others does, for less work.
    for (std::size_t t = 0; t < truth.size(); ++t) {
      const double cost = options.loss_scale * label_cost(truth[t]);
      buffers.scores[t * stride_ + truth[t]] -= cost;
      greatest_loss += cost;
    }
  }
  const double shift = greatest_loss - right;
  const double best = decode_best(i, w, options.k, buffers, [&](double score) {
    if (!(score + shift >= options.min_violation)) return false;
    if (!std::ranges::equal(buffers.labels, truth)) emit(i, buffers, sink);
    return true;
  });
  return std::max(best + shift, 0.0);
}

// Hands over buffers.labels as a candidate.
void SequenceTask::emit(std::size_t i, Buffers& buffers, CandidateSink& sink) const {
  encode(buffers.labels, buffers.output);
  Candidate result;
  result.example = i;
  result.key = output_key(buffers.output);
  result.output = buffers.output;
  result.implicit = data_.dense;
  const auto truth = gold(i);
  for (std::size_t t = 0; t < buffers.labels.size(); ++t) {
    if (buffers.labels[t] != truth[t]) result.loss += label_cost(truth[t]);
  }
  if (data_.dense) {
    std::vector<double>& sum = buffers.dense_difference;
    visit_difference(i, buffers.output, [&](WeightIndex k, double value) { sum[k] += value; });
    visit_difference(i, buffers.output, [&](WeightIndex k, double) {
      result.squared_norm += sum[k] * sum[k];
      sum[k] = 0;
    });
  } else {
    buffers.difference.clear();
    visit_difference(i, buffers.output, [&](WeightIndex k, double value) { buffers.difference.push_back({k, value}); });
    coalesce(buffers.difference, buffers.spare);
    for (const Entry& entry : buffers.difference) result.squared_norm += entry.value * entry.value;
    result.difference = buffers.difference;
  }
  sink.accept(result);
}

// Outputs differ from gold, and from each other, in a few tokens: what a token's features say of a label is computed
// when it is first needed, and once.
void SequenceTask::gather(std::size_t i, std::span<const ByteView> outputs, WeightView w,
                          std::span<double> values) const {
  const std::size_t labels = data_.label_count;
  FewNumbers numbers(length(i) * labels);
  double* scores = numbers.data();
  std::fill_n(scores, length(i) * labels, std::numeric_limits<double>::quiet_NaN());
  const auto score = [&](std::size_t t, std::size_t label) {
    double& known = scores[t * labels + label];
    if (std::isnan(known)) {
      double sum = 0;
      visit_emissions(data_.sentences[i] + t, label, 1, [&](WeightIndex k, double value) { sum += w[k] * value; });
      known = sum;
    }
    return known;
  };
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    double sum = 0;
    visit_parts(
        i, outputs[j],
        [&](std::size_t t, std::size_t right, std::size_t label) { sum += score(t, right) - score(t, label); },
        [&](WeightIndex k, double value) { sum += w[k] * value; });
    values[j] = sum;
  }
}

// The steps of a token and label add up before any weight is touched.
void SequenceTask::scatter(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
                           const WeightWriter& w) const {
  const std::size_t labels = data_.label_count;
  FewNumbers numbers(length(i) * labels);
  double* changes = numbers.data();
  std::fill_n(changes, length(i) * labels, 0.0);
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    if (steps[j] == 0) continue;
    visit_parts(
        i, outputs[j],
        [&](std::size_t t, std::size_t right, std::size_t label) {
          changes[t * labels + right] += steps[j];
          changes[t * labels + label] -= steps[j];
        },
        [&](WeightIndex k, double value) { w.add(k, steps[j] * value); });
  }
  for (std::size_t t = 0; t < length(i); ++t) {
    for (std::size_t label = 0; label < labels; ++label) {
      const double change = changes[t * labels + label];
      if (change == 0) continue;
      visit_emissions(data_.sentences[i] + t, label, change, [&](WeightIndex k, double value) { w.add(k, value); });
    }
  }
}

// d.d' by the products of tokens, x_t.x_u, and by how often the labels of both agree there; the terms of (t, u) and (u,
// t) are added to each other first, so that d'.d has the same bits.
void SequenceTask::products(std::size_t i, ByteView output, std::span<const ByteView> others, Scratch& scratch,
                            std::span<double> result) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  const auto truth = gold(i);
  const std::size_t count = truth.size();
  buffers.token_products.assign(count * count, std::numeric_limits<double>::quiet_NaN());
  const auto token_product = [&](std::size_t t, std::size_t u) {
    double& known = buffers.token_products[t * count + u];
    if (std::isnan(known)) {
      const float* first = data_.values.data() + (data_.sentences[i] + t) * data_.feature_count;
      const float* second = data_.values.data() + (data_.sentences[i] + u) * data_.feature_count;
      known = 0;
      for (std::size_t f = 0; f < data_.feature_count; ++f) known += double{first[f]} * second[f];
    }
    return known;
  };
  // (right label of t - label of t in a).(right label of u - label of u in b), labels as unit vectors.
  const auto agreement = [&](ByteView a, std::size_t t, ByteView b, std::size_t u) {
    const std::size_t in_a = decode_label(a, t);
    const std::size_t in_b = decode_label(b, u);
    return int{truth[t] == truth[u]} - int{truth[t] == in_b} - int{in_a == truth[u]} + int{in_a == in_b};
  };
  const auto note_rest = [&](ByteView of, std::vector<Entry>& rest) {
    rest.clear();
    visit_parts(
        i, of, [](std::size_t, std::size_t, std::size_t) {},
        [&](WeightIndex k, double value) { rest.push_back({k, value}); });
    coalesce(rest, buffers.spare);
  };
  note_rest(output, buffers.difference);
  for (std::size_t j = 0; j < others.size(); ++j) {
    double sum = 0;
    for (std::size_t t = 0; t < count; ++t) {
      for (std::size_t u = t; u < count; ++u) {
        const int both = agreement(output, t, others[j], u) + (u > t ? agreement(output, u, others[j], t) : 0);
        if (both != 0) sum += both * token_product(t, u);
      }
    }
    note_rest(others[j], buffers.other_difference);
    result[j] = sum + sparse_product(buffers.difference, buffers.other_difference);
  }
}

bool SequenceTask::candidate(std::size_t i, ByteView output, Scratch& scratch, CandidateSink& sink) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  const std::size_t count = output.size() / bytes_per_label();
  const bool fits = options_.beam == 0 ? count == length(i) : count <= length(i);
  if (!fits || output.size() % bytes_per_label() != 0) {
    throw std::invalid_argument("an output of sentence " + std::to_string(i) + " has the wrong length");
  }
  buffers.labels.resize(count);
  for (std::size_t t = 0; t < count; ++t) {
    const std::size_t label = decode_label(output, t);
    if (label >= data_.label_count) {
      throw std::invalid_argument("an output of sentence " + std::to_string(i) + " has label " + std::to_string(label) +
                                  " of " + std::to_string(data_.label_count));
    }
    buffers.labels[t] = static_cast<LabelIndex>(label);
  }
  if (!allows(buffers.labels, count < length(i)) || !are_allowed(i, buffers.labels)) return false;
  emit(i, buffers, sink);
  return true;
}

}  // namespace marginloom
