// Sets of labels: any subset of L labels is an output. phi(x, S) has x once for every label in S and, where pairs of
// labels interact, 1 for every pair that is whole in S. So with s_l = w_l.x
//
//   w.phi(x, S) = sum_{l in S} s_l + sum_{pairs (a, b) in S} v_ab
//   loss(S)     = sum over the right labels that are missing of missing_l + over the wrong ones that are there of
//                 spurious_l; all costs 1: Hamming loss
//   d(S).d(S')  = |x|^2 times the number of labels that differ from gold in both, plus the same for pairs
//
// Without pairs labels are decided one by one: exact, in time linear in L. With pairs see label_pairs.hpp.
//
// An example is a row of the inputs with all its labels, or, where labels do not interact, with some of them: then
// every row makes several examples, each with its own slack. For the hinge loss the objective is the same, the largest
// violation of a row being the sum of those of its parts,
//   max_S [loss(S) - w.d(S)] = sum_l max(0, loss_l - w.d_l),
// and far fewer sets are needed to describe the optimum: 2 for a part of one label, which is a binary SVM, and in
// general one more than the labels of a part. For the squared hinge it is another objective.
//
// Weights: the pairs', padded to a multiple of row_alignment; then rows of `stride` doubles, one per feature, one
// column per label, the padding always 0. The difference phi(gold) - phi(S) has plus or minus x for the labels in which
// the two sets differ; candidates keep the set only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/input_matrix.hpp"
#include "core/kernels.hpp"
#include "core/marginals.hpp"
#include "core/scored_task.hpp"
#include "tasks/multilabel/gold_sets.hpp"
#include "tasks/multilabel/label_pairs.hpp"
#include "tasks/multilabel/label_sets.hpp"

namespace marginloom {

struct MultilabelOptions {
  std::vector<double> missing_costs = {};   // loss of a right label that is missing; empty: all 1
  std::vector<double> spurious_costs = {};  // loss of a wrong label that is there; empty: all 1
  std::size_t labels_per_slack = 0;         // of an example, the last one of a row may have fewer; 0: all
  std::vector<LabelPair> pairs = {};
  bool relaxes = false;  // pairs with cycles, also where the labels are few enough to look at every set
  int sweeps = 30;       // of the relaxation at most
};

class MultilabelTask final : public ScoredTask, public Marginals {
 public:
  // `gold` has a set of labels (label_sets.hpp) per row, or is empty: nothing to learn from. The memory of `inputs` and
  // `gold` must outlive the task. Throws std::invalid_argument if they contradict themselves.
  MultilabelTask(const InputData& inputs, std::span<const std::uint8_t> gold, std::size_t label_count,
                 MultilabelOptions options);

  std::size_t size() const override { return inputs_.size() * parts_; }
  std::size_t dimension() const override { return first_row() + inputs_.width() * stride_; }
  std::size_t examples_per_row() const override { return parts_; }
  Capabilities capabilities() const override;
  std::unique_ptr<Scratch> make_scratch() const override;
  bool candidate(std::size_t i, ByteView output, Scratch& scratch, CandidateSink& sink) const override;
  double work(std::size_t i) const override { return static_cast<double>(inputs_.entry_count(row_of(i))) + 1; }
  void prefetch(std::size_t i) const override {
    inputs_.prefetch(row_of(i));
    prefetch_scored(i);
  }
  void products(std::size_t i, ByteView output, std::span<const ByteView> others, Scratch& scratch,
                std::span<double> result) const override;

  // The labels of the example, padded; then the weights of the pairs.
  std::size_t score_count() const override { return first_pair() + pairs_.size(); }
  void score(std::size_t i, WeightView w, double* scores) const override;
  void score_batch(std::span<const std::size_t> examples, WeightView w, double* scores) const override;
  void add_score_steps(std::size_t i, std::span<const ScoreStep> steps, const WeightWriter& w) const override;
  void predict_scored(std::size_t i, const double* scores, int k, Scratch& scratch,
                      std::vector<Output>& outputs) const override;
  double find_scored(std::size_t i, const double* scores, const FindOptions& options, Scratch& scratch,
                     CandidateSink& sink) const override;
  void gather_scored(std::size_t i, std::span<const ByteView> outputs, const double* scores,
                     std::span<double> values) const override;
  void scatter_scored(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
                      ScoreSteps& result) const override;
  void prefetch_scored(std::size_t i) const override {
    inputs_.prefetch_norm(row_of(i));
    gold_.prefetch(i);
  }
  std::optional<ProductForm> product_form() const override;

  std::optional<DecisionForm> decision_form() const override;
  bool gold_decision(std::size_t row, std::size_t column) const override { return has_label(gold_.row(row), column); }
  void append_output(std::size_t i, std::span<const std::size_t> wrong,
                     std::vector<std::uint8_t>& bytes) const override;

  // Parts are the labels of the example; choice 1 is to have it. Every label has an offset.
  std::string why_no_marginals() const override;
  std::size_t part_count(std::size_t i) const override { return labels_of(i); }
  std::size_t choice_count(std::size_t) const override { return 2; }
  std::size_t offset_count() const override { return label_count_; }
  void score_choices(std::size_t i, WeightView w, Scratch& scratch) const override;
  void marginals(std::size_t i, const Tempering& tempering, const MarginalQuery& query,
                 Scratch& scratch) const override;

  [[nodiscard]] std::size_t stride() const { return stride_; }
  [[nodiscard]] std::size_t first_row() const { return padded(pairs_.size()); }  // where the features' weights begin
  [[nodiscard]] std::size_t bytes_per_output() const { return label_set_bytes(part_size_); }

 private:
  struct Buffers;

  [[nodiscard]] std::size_t row_of(std::size_t i) const { return i / parts_; }
  [[nodiscard]] std::size_t first_label(std::size_t i) const { return i % parts_ * part_size_; }
  [[nodiscard]] std::size_t labels_of(std::size_t i) const {
    return std::min(part_size_, label_count_ - first_label(i));
  }
  [[nodiscard]] ByteView gold(std::size_t i) const { return gold_.of(i); }
  [[nodiscard]] double cost(std::size_t label, bool missing) const {
    const auto& costs = missing ? options_.missing_costs : options_.spurious_costs;
    return costs.empty() ? 1.0 : costs[label];
  }
  [[nodiscard]] std::size_t first_pair() const { return padded(part_size_); }  // among the scores
  template <class Take>
  double decode_best(std::span<const double> gains, const double* pair_weights, int k, Buffers& buffers,
                     Take take) const;
  void emit(std::size_t i, Buffers& buffers, CandidateSink& sink) const;
  void score_neighbours(std::size_t first, std::size_t count, WeightView w, double* scores) const;

  InputMatrix inputs_;
  std::size_t label_count_;
  std::size_t stride_;
  std::size_t part_size_;  // labels of an example
  std::size_t parts_;      // examples of a row
  GoldSets gold_;
  MultilabelOptions options_;
  LabelPairs pairs_;
};

}  // namespace marginloom
