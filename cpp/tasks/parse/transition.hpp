// Dependency trees built from left to right by beam search: projective, with one root.
//
// The score of a tree is that of the actions that make it (derivation.hpp), each by features of the state in which it
// is taken, and of the labels of its arcs. Labels do not interact: a reduction takes the best label for its arc, and no
// other feature reads it. The search is not exact; candidates are prefixes of derivations (core/prefix_update.hpp).
//
// An output is a byte for each action, a reduction's with its label behind it, in one or two bytes; behind the last
// action of a whole derivation, the label of the root.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/task.hpp"
#include "tasks/parse/beam_search.hpp"
#include "tasks/parse/parse.hpp"
#include "tasks/parse/state_features.hpp"

namespace marginloom {

struct TransitionOptions {
  BeamOptions search;
  std::size_t label_count = 0;  // 0: arcs have no labels
  LabelMasks allowed;
};

// Where the weights of labels begin, and how long their rows are; those of states are rows of action_stride before.
struct TransitionWeights {
  std::size_t labels = 0;
  std::size_t stride = 0;
  std::size_t size = 0;

  TransitionWeights(const StateFeatures& features, std::size_t label_count);
};

class TransitionTask final : public Task {
 public:
  // Throws std::invalid_argument if the data contradict themselves.
  TransitionTask(const ParseData& data, TransitionOptions options, std::shared_ptr<const StateFeatures> features);

  std::size_t size() const override { return data_.sentences.size() - 1; }
  std::size_t dimension() const override { return layout_.size; }
  Capabilities capabilities() const override;
  std::unique_ptr<Scratch> make_scratch() const override;
  void predict(std::size_t i, WeightView w, int k, Scratch& scratch, std::vector<Output>& outputs) const override;
  double find(std::size_t i, WeightView w, const FindOptions& options, Scratch& scratch,
              CandidateSink& sink) const override;
  bool candidate(std::size_t i, ByteView output, Scratch& scratch, CandidateSink& sink) const override;
  double work(std::size_t i) const override { return static_cast<double>(length(i)) + 1; }

  [[nodiscard]] const TransitionWeights& layout() const { return layout_; }
  [[nodiscard]] std::size_t length(std::size_t i) const { return data_.sentences[i + 1] - data_.sentences[i]; }

  // What one state of a beam takes, with its links, and what it takes besides during its step.
  [[nodiscard]] static constexpr std::size_t state_bytes() { return BeamSearch::node_bytes; }
  [[nodiscard]] std::size_t step_bytes() const {
    return BeamSearch::candidate_bytes + StateScorer::bytes_per_view * features_->states().groups().size();
  }

  // The trees of whole outputs of all sentences, one after the other; throws std::invalid_argument if one is no tree.
  void read_trees(std::span<const std::uint8_t> outputs, std::span<const std::uint64_t> bounds,
                  std::vector<Head>& heads, std::vector<std::uint16_t>& labels) const;

 private:
  struct Buffers;

  [[nodiscard]] bool labelled() const { return options_.label_count > 0; }
  [[nodiscard]] std::size_t bytes_per_label() const { return options_.label_count > 256 ? 2 : 1; }
  [[nodiscard]] WordValues words(std::size_t i) const {
    const std::size_t views = features_->views();
    return {data_.values.subspan(data_.sentences[i] * views, length(i) * views), views, length(i)};
  }
  void load(std::size_t i, Buffers& buffers) const;
  void take_gold(std::size_t i, Buffers& buffers) const;
  void take_found(std::size_t steps, Buffers& buffers) const;
  [[nodiscard]] bool is_wrong(const Buffers& buffers) const;
  void encode(const Buffers& buffers, std::vector<std::uint8_t>& bytes) const;
  [[nodiscard]] bool decode(std::size_t i, ByteView output, Derivation& found, PartialTree& tree) const;
  void emit(std::size_t i, Buffers& buffers, CandidateSink& sink) const;
  void add_states(const Derivation& derivation, std::size_t first, std::size_t end, double sign,
                  Buffers& buffers) const;
  void add_labels(Buffers& buffers) const;
  void add_label(std::size_t head, std::size_t modifier, std::uint16_t label, double sign, Buffers& buffers) const;

  ParseData data_;
  TransitionOptions options_;
  std::shared_ptr<const StateFeatures> features_;
  TransitionWeights layout_;
};

}  // namespace marginloom
