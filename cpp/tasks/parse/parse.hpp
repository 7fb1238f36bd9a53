// Dependency trees: a head for every word, and a label for every arc if arcs have labels.
//
// A tree's score is the sum of its arcs', each by features of its words (arc_templates.hpp); of second order,
// arcs also score together with their nearest sibling. Labels do not interact: every arc takes its best label first,
// then the tree is found, so both are the best together. The loss is the number of words with a wrong head or label.
//
//   order  trees           search
//   1      projective      Eisner's algorithm
//   1      any             Chu, Liu and Edmonds' algorithm
//   2      projective      Eisner's algorithm with siblings
//   2      any             that tree, rearranged while its score rises: not exact
//
// An output is two bytes for each head, then one or two for each label.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/marginals.hpp"
#include "core/parallel.hpp"
#include "core/task.hpp"
#include "tasks/parse/arc_scorer.hpp"
#include "tasks/parse/trees.hpp"

namespace marginloom {

// Encoded sentences; the memory belongs to the caller and must outlive the task.
struct ParseData {
  std::span<const std::uint64_t> sentences;  // sentence i has the words sentences[i] .. sentences[i + 1] - 1
  std::span<const std::uint64_t> values;     // of the views of every word
  std::span<const Head> heads;               // the right ones, or empty: nothing to learn from
  std::span<const std::uint16_t> labels;     // the right ones, or empty
};

// Throws std::invalid_argument if sentences, values, trees and labels do not fit together.
void check_parse_data(const ParseData& data, std::size_t views, bool projective, bool one_root, std::size_t label_count,
                      const LabelMasks& allowed);

struct ParseOptions {
  bool projective = true;
  bool siblings = false;  // second order
  bool one_root = true;
  std::size_t label_count = 0;  // 0: arcs have no labels
  LabelMasks allowed;
  std::size_t memory = 0;  // bytes for features of all arcs that are kept instead of made again for every search
};

class ParseTask final : public Task, public Marginals {
 public:
  // Throws std::invalid_argument if the data contradict themselves, and Interrupted if it was stopped.
  ParseTask(const ParseData& data, ParseOptions options, std::shared_ptr<const ArcFeatures> features, int threads,
            StopRequest stop = {});

  std::size_t size() const override { return data_.sentences.size() - 1; }
  std::size_t dimension() const override { return layout_.size; }
  Capabilities capabilities() const override;
  std::unique_ptr<Scratch> make_scratch() const override;
  void predict(std::size_t i, WeightView w, int k, Scratch& scratch, std::vector<Output>& outputs) const override;
  double find(std::size_t i, WeightView w, const FindOptions& options, Scratch& scratch,
              CandidateSink& sink) const override;
  bool candidate(std::size_t i, ByteView output, Scratch& scratch, CandidateSink& sink) const override;
  double work(std::size_t i) const override;

  // Parts are words, and choices their heads, or heads times labels.
  std::string why_no_marginals() const override;
  std::size_t part_count(std::size_t i) const override { return length(i); }
  std::size_t choice_count(std::size_t i) const override { return (length(i) + 1) * choices_per_head(); }
  void score_choices(std::size_t i, WeightView w, Scratch& scratch) const override;
  void marginals(std::size_t i, const Tempering& tempering, const MarginalQuery& query,
                 Scratch& scratch) const override;

  [[nodiscard]] const ParseWeights& layout() const { return layout_; }
  [[nodiscard]] std::size_t bytes_per_label() const { return !labelled() ? 0 : options_.label_count > 256 ? 2 : 1; }
  [[nodiscard]] std::size_t length(std::size_t i) const { return data_.sentences[i + 1] - data_.sentences[i]; }
  [[nodiscard]] std::size_t kept_bytes() const { return kept_bytes_; }

 private:
  struct Buffers;

  [[nodiscard]] std::size_t choices_per_head() const { return std::max<std::size_t>(options_.label_count, 1); }
  [[nodiscard]] bool labelled() const { return options_.label_count > 0; }
  [[nodiscard]] bool is_exact() const { return options_.projective || !options_.siblings; }
  [[nodiscard]] std::span<const std::uint16_t> gold_labels(std::size_t i) const {
    return data_.labels.subspan(data_.sentences[i], length(i));
  }
  [[nodiscard]] WordValues words(std::size_t i) const {
    const std::size_t views = features_->views();
    return {data_.values.subspan(data_.sentences[i] * views, length(i) * views), views, length(i)};
  }
  void keep_arcs(int threads, StopRequest& stop);
  void take_gold(std::size_t i, Buffers& buffers) const;
  void load(std::size_t i, Buffers& buffers) const;
  void score_arcs(std::size_t i, WeightView w, Buffers& buffers) const;
  void add_labels(std::size_t i, WeightView w, double loss_scale, Buffers& buffers) const;
  void add_loss(double loss_scale, Buffers& buffers) const;
  [[nodiscard]] double sibling_score(WeightView w, std::span<const Head> heads, const Buffers& buffers) const;
  double search_tree(const ArcScores& scores, WeightView w, Buffers& buffers, Heads& heads) const;
  template <class Take>
  double search_trees(std::size_t k, WeightView w, Buffers& buffers, Take take) const;
  void take_found(const Heads& heads, Buffers& buffers) const;
  void encode(const Buffers& buffers, std::vector<std::uint8_t>& bytes) const;
  [[nodiscard]] bool decode(std::size_t i, ByteView output, Buffers& buffers) const;
  void emit(std::size_t i, Buffers& buffers, CandidateSink& sink) const;
  template <class Function>
  void visit_difference(std::size_t i, Buffers& buffers, Function function) const;

  ParseData data_;
  ParseOptions options_;
  std::shared_ptr<const ArcFeatures> features_;
  ParseWeights layout_;
  std::vector<KeptArcs> kept_;  // by sentence, or empty
  std::size_t kept_bytes_ = 0;
};

}  // namespace marginloom
