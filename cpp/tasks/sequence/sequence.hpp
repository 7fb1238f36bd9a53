// Chains: one label per token, scored by emission features times labels, by pairs of neighbouring labels and by
// combinations of one or two labels before a token, what is observed there, and its label. Inference is Viterbi's
// algorithm over labels (order 1) or pairs of labels (order 2), or beam search, which looks two labels back as well.
//
// Weights lie in rows of `stride` doubles, one column per label, the padding always 0:
//   rows 0 .. labels-1       transitions: row p, column c scores label c after label p
//   row  labels, labels + 1  start and end (present, but unused unless `start_end`)
//   the rest                 one row per emission feature
// so the weights that every sentence touches come first, and scores of a token are sums of contiguous rows. After the
// rows there is one weight for each combination of an observation, labels before a token and its own label.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/marginals.hpp"
#include "core/prefix_update.hpp"
#include "core/task.hpp"
#include "core/weight_rows.hpp"
#include "tasks/sequence/history_chain.hpp"
#include "tasks/sequence/label_histories.hpp"
#include "tasks/sequence/path_marginals.hpp"
#include "tasks/sequence/viterbi.hpp"

namespace marginloom {

// Encoded sentences; the memory belongs to the caller and must outlive the task.
struct SequenceData {
  std::span<const std::uint64_t> sentences;  // sentence i has the tokens sentences[i] .. sentences[i + 1] - 1
  std::span<const std::uint64_t> tokens;     // sparse: token t has the features tokens[t] .. tokens[t + 1] - 1
  std::span<const std::uint32_t> features;
  std::span<const float> values;     // of the features, empty if all are 1; dense: tokens times feature_count
  std::span<const LabelIndex> gold;  // one per token, or empty: nothing to learn from
  std::size_t feature_count = 0;
  std::size_t label_count = 0;
  bool dense = false;
  // Token t has the observations observation_offsets[t] .. observation_offsets[t + 1] - 1; both may be empty.
  std::span<const std::uint64_t> observation_offsets = {};
  std::span<const std::uint32_t> observations = {};
  const LabelHistories* histories = nullptr;  // which combinations have weights, if any
  // Token t can have the labels that are 1 in row kinds[t] of `allowed`, of label_count columns; both may be empty.
  std::span<const std::uint8_t> kinds = {};
  std::span<const std::uint8_t> allowed = {};
};

struct SequenceOptions {
  bool start_end = false;
  std::vector<double> label_costs;  // loss of a wrong label where this one is right; empty: all 1
  // Pairs (from, to) of labels that must not be neighbours; `boundary` as one of them is the start or the end.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> forbidden;
  static constexpr std::uint32_t boundary = 0xFFFFFFFF;
  int order = 1;                                      // labels before a token that count; 2 with a beam
  std::size_t beam = 0;                               // states that beam search keeps; 0 is exact search
  PrefixUpdate update = PrefixUpdate::max_violation;  // of beam search
};

class SequenceTask final : public Task, public ImplicitDifferences, public Marginals {
 public:
  // Throws std::invalid_argument if the data contradict themselves.
  SequenceTask(const SequenceData& data, SequenceOptions options);

  std::size_t size() const override { return data_.sentences.size() - 1; }
  std::size_t dimension() const override {
    return first_combination() + (data_.histories ? data_.histories->size() : 0);
  }
  Capabilities capabilities() const override;
  std::unique_ptr<Scratch> make_scratch() const override;
  void predict(std::size_t i, WeightView w, int k, Scratch& scratch, std::vector<Output>& outputs) const override;
  double find(std::size_t i, WeightView w, const FindOptions& options, Scratch& scratch,
              CandidateSink& sink) const override;
  bool candidate(std::size_t i, ByteView output, Scratch& scratch, CandidateSink& sink) const override;
  double work(std::size_t i) const override { return static_cast<double>(length(i)) + 1; }

  // Of dense features, whose differences are not stored.
  void gather(std::size_t i, std::span<const ByteView> outputs, WeightView w, std::span<double> values) const override;
  void scatter(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
               const WeightWriter& w) const override;
  void products(std::size_t i, ByteView output, std::span<const ByteView> others, Scratch& scratch,
                std::span<double> result) const override;

  // Parts are tokens, and choices their labels. Not with a beam.
  std::string why_no_marginals() const override;
  std::size_t part_count(std::size_t i) const override { return length(i); }
  std::size_t choice_count(std::size_t) const override { return data_.label_count; }
  void score_choices(std::size_t i, WeightView w, Scratch& scratch) const override;
  void marginals(std::size_t i, const Tempering& tempering, const MarginalQuery& query,
                 Scratch& scratch) const override;
  // After marginals(): that the tokens from `first` on each have one of these labels.
  [[nodiscard]] static double log_probability_of_run(std::size_t first, std::span<const PathMarginals::Labels> labels,
                                                     const Scratch& scratch);

  template <class Function>
  void visit_difference(std::size_t i, ByteView output, Function function) const;

  // What tasks of so many features and labels have.
  [[nodiscard]] static WeightRows weight_rows(std::size_t feature_count, std::size_t label_count) {
    return {.count = label_count + 2 + feature_count, .columns = label_count};
  }
  [[nodiscard]] std::size_t stride() const { return stride_; }
  [[nodiscard]] std::size_t start_row() const { return data_.label_count; }  // after those of the transitions
  [[nodiscard]] std::size_t first_feature_row() const { return start_row() + 2; }
  [[nodiscard]] std::size_t first_combination() const {  // after the rows
    return weight_rows(data_.feature_count, data_.label_count).size();
  }
  [[nodiscard]] std::size_t bytes_per_label() const { return data_.label_count > 256 ? 2 : 1; }
  [[nodiscard]] std::size_t length(std::size_t i) const { return data_.sentences[i + 1] - data_.sentences[i]; }

 private:
  struct Buffers;

  [[nodiscard]] std::span<const LabelIndex> gold(std::size_t i) const {
    return data_.gold.subspan(data_.sentences[i], length(i));
  }
  [[nodiscard]] double label_cost(LabelIndex label) const {
    return options_.label_costs.empty() ? 1.0 : options_.label_costs[label];
  }
  [[nodiscard]] std::size_t decode_label(ByteView output, std::size_t t) const {
    return bytes_per_label() == 1 ? output[t] : output[2 * t] + 256u * output[2 * t + 1];
  }
  void encode(std::span<const LabelIndex> labels, std::vector<std::uint8_t>& bytes) const;
  [[noreturn]] static void no_labelling(std::size_t i);
  void check_score(double best, std::size_t i) const;
  void score_tokens(std::size_t i, WeightView w, Buffers& buffers) const;
  void check_histories() const;
  void note_dead_ends();
  void mask_dead_ends(std::size_t i, Buffers& buffers) const;
  [[nodiscard]] HistoryChain history_chain(std::size_t i, WeightView w, Buffers& buffers) const;
  double best_path(std::size_t i, WeightView w, Buffers& buffers) const;
  void predict_by_beam(std::size_t i, WeightView w, Buffers& buffers, std::vector<Output>& outputs) const;
  double find_by_beam(std::size_t i, WeightView w, Buffers& buffers, CandidateSink& sink) const;
  [[nodiscard]] bool copies_transitions(const Buffers& buffers) const;
  void copy_transitions(std::size_t i, WeightView w, Buffers& buffers) const;
  void note_local_transitions(std::size_t i, WeightView w, Buffers& buffers) const;
  [[nodiscard]] ChainScores score_prefixes(std::size_t i, WeightView w, Buffers& buffers) const;
  template <class Take>
  double decode_best(std::size_t i, WeightView w, int k, Buffers& buffers, Take take) const;
  void start_chain(std::size_t i, WeightView w, Buffers& buffers) const;
  void note_forbidden();
  [[nodiscard]] bool allows(std::span<const LabelIndex> labels, bool is_prefix = false) const;
  void check_kinds() const;
  [[nodiscard]] bool is_allowed(std::size_t token, std::size_t label) const {
    return data_.kinds.empty() || data_.allowed[data_.kinds[token] * data_.label_count + label] != 0;
  }
  [[nodiscard]] bool are_allowed(std::size_t i, std::span<const LabelIndex> labels) const;
  void mask_labels(std::size_t i, std::span<double> scores) const;
  [[nodiscard]] double history_score(std::size_t i, WeightView w) const;
  [[nodiscard]] double gold_score(std::size_t i, WeightView w, const Buffers& buffers) const;
  void emit(std::size_t i, Buffers& buffers, CandidateSink& sink) const;
  // The observations of a sentence's tokens.
  [[nodiscard]] Observations observations(std::size_t i) const {
    if (data_.observation_offsets.empty()) return {};
    return {data_.observation_offsets.subspan(data_.sentences[i], length(i) + 1), data_.observations};
  }
  template <class Function>
  void for_observations(std::size_t i, std::size_t t, Function function) const;
  template <class Function>
  void visit_histories(std::size_t i, ByteView output, Function function) const;
  template <class Token, class Function>
  void visit_parts(std::size_t i, ByteView output, Token token, Function function) const;
  template <class Function>
  void visit_emissions(std::size_t token, std::size_t label, double sign, Function function) const;

  SequenceData data_;
  SequenceOptions options_;
  std::size_t stride_;
  std::vector<bool> forbidden_;  // pairs of neighbours, the boundary after the last label; empty if all are allowed
  // With a beam and constraints: by how many tokens follow, whether a label can be followed by so many; the last holds
  // for all that are longer.
  std::vector<std::vector<bool>> continues_;
};

template <class Function>
void SequenceTask::visit_emissions(std::size_t token, std::size_t label, double sign, Function function) const {
  const std::size_t base = first_feature_row() * stride_ + label;
  if (data_.dense) {
    const float* values = data_.values.data() + token * data_.feature_count;
    for (std::size_t f = 0; f < data_.feature_count; ++f) {
      function(static_cast<WeightIndex>(base + f * stride_), sign * values[f]);
    }
    return;
  }
  for (std::size_t j = data_.tokens[token]; j < data_.tokens[token + 1]; ++j) {
    function(static_cast<WeightIndex>(base + data_.features[j] * stride_),
             data_.values.empty() ? sign : sign * data_.values[j]);
  }
}

// Only tokens whose labels differ, and pairs of neighbours in which one does, contribute: calls token(t, right label,
// wrong label) for the former, and function(weight, value) for the latter and for the first and last label.
template <class Token, class Function>
void SequenceTask::visit_parts(std::size_t i, ByteView output, Token token, Function function) const {
  const auto truth = gold(i);
  const auto start = static_cast<WeightIndex>(data_.label_count * stride_);
  const auto pair = [&](std::size_t from, std::size_t to) { return static_cast<WeightIndex>(from * stride_ + to); };
  std::size_t previous = 0;
  const std::size_t length = output.size() / bytes_per_label();  // that of a prefix, perhaps
  for (std::size_t t = 0; t < length; ++t) {
    const std::size_t label = decode_label(output, t);
    const bool differs = label != truth[t];
    if (differs) token(t, truth[t], label);
    if (t > 0 && (differs || previous != truth[t - 1])) {
      function(pair(truth[t - 1], truth[t]), 1);
      function(pair(previous, label), -1);
    }
    if (options_.start_end && differs && t == 0) {
      function(static_cast<WeightIndex>(start + truth[t]), 1);
      function(static_cast<WeightIndex>(start + label), -1);
    }
    if (options_.start_end && differs && t + 1 == truth.size()) {
      function(static_cast<WeightIndex>(start + stride_ + truth[t]), 1);
      function(static_cast<WeightIndex>(start + stride_ + label), -1);
    }
    previous = label;
  }
  if (data_.histories) visit_histories(i, output, function);
}

// Calls function(observation) for those of token t whose histories are there: of two labels from the third token on.
template <class Function>
void SequenceTask::for_observations(std::size_t i, std::size_t t, Function function) const {
  const LabelHistories& histories = *data_.histories;
  if (t >= 2 && histories.of_every_token() != LabelHistories::none) function(histories.of_every_token());
  for (const std::uint32_t observation : observations(i).of(t)) {
    if (t >= 2 || histories.reach(observation) == LabelHistories::Reach::before) function(observation);
  }
}

// The combinations of tokens whose labels differ, or those before them, and that have a weight.
template <class Function>
void SequenceTask::visit_histories(std::size_t i, ByteView output, Function function) const {
  const LabelHistories& histories = *data_.histories;
  const auto truth = gold(i);
  const auto label = [&](std::size_t t) { return decode_label(output, t); };
  const std::size_t first = first_combination();
  const std::size_t length = output.size() / bytes_per_label();
  std::size_t differs = length;  // the last token at which labels differ, so far
  for (std::size_t t = 0; t < length; ++t) {
    if (label(t) != truth[t]) differs = t;
    if (t == 0 || differs == length || t - differs > 2) continue;
    for_observations(i, t, [&](std::size_t observation) {
      const LabelHistories::Reach reach = histories.reach(observation);
      const std::size_t far = t < 2 ? 0 : t - 2;
      const std::size_t right =
          histories.find(observation, histories.history(reach, truth[far], truth[t - 1]), truth[t]);
      const std::size_t wrong =
          histories.find(observation, histories.history(reach, label(far), label(t - 1)), label(t));
      if (right == wrong) return;
      if (right != LabelHistories::none) function(static_cast<WeightIndex>(first + right), 1);
      if (wrong != LabelHistories::none) function(static_cast<WeightIndex>(first + wrong), -1);
    });
  }
}

template <class Function>
void SequenceTask::visit_difference(std::size_t i, ByteView output, Function function) const {
  visit_parts(
      i, output,
      [&](std::size_t t, std::size_t right, std::size_t label) {
        visit_emissions(data_.sentences[i] + t, right, 1, function);
        visit_emissions(data_.sentences[i] + t, label, -1, function);
      },
      function);
}

}  // namespace marginloom
