// Scores of all arcs of one sentence from the weights of their features.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/types.hpp"
#include "tasks/parse/arc_features.hpp"
#include "tasks/parse/label_scorer.hpp"
#include "tasks/parse/trees.hpp"

namespace marginloom {

// Where the weights of each kind of features begin; those of labels are rows of `stride`, a column a label.
struct ParseWeights {
  std::size_t siblings = 0;
  std::size_t labels = 0;
  std::size_t stride = 0;
  std::size_t size = 0;

  ParseWeights() = default;
  ParseWeights(const ArcFeatures& features, std::size_t label_count);
};

// Labels that arcs may have: those from the root, and the others.
struct LabelMasks {
  std::vector<std::uint16_t> at_root, elsewhere;

  [[nodiscard]] const std::vector<std::uint16_t>& of(std::size_t head) const { return head == 0 ? at_root : elsewhere; }
};

// Numbers of the features of all arcs of a sentence, of head 0 first; none if they are not kept.
struct KeptArcs {
  std::vector<std::uint32_t> ends;
  std::vector<std::uint32_t> numbers;
};

// A feature of an arc while they are found template by template.
struct ArcFeature {
  std::uint32_t arc;
  std::uint32_t number;
};

// Memory of one thread. After load() of a sentence it scores its arcs with some weights, which it does not keep.
class ArcScorer {
 public:
  ArcScorer(const ArcFeatures& features, const ParseWeights& layout)
      : features_(features),
        layout_(layout),
        labels_(features.templates(ArcTemplates::Kind::label), features.numbers(ArcTemplates::Kind::label),
                layout.labels, layout.stride) {}

  void load(const WordValues& words, bool siblings, bool labels);
  [[nodiscard]] const KeyParts& parts(ArcTemplates::Kind kind) const {
    return kind == ArcTemplates::Kind::label ? labels_.parts() : parts_[static_cast<std::size_t>(kind)];
  }

  void score_arcs(WeightView w, ArcScores& scores);
  static void score_arcs(const KeptArcs& kept, WeightView w, ArcScores& scores);
  [[nodiscard]] KeptArcs keep(std::size_t length);

  [[nodiscard]] double score_sibling(WeightView w, std::size_t head, std::size_t sibling, std::size_t modifier) const;

  // The same for every word between the two as the sibling, and for none at place 0; until the next call.
  [[nodiscard]] const double* score_siblings(WeightView w, std::size_t head, std::size_t modifier);

  // For every arc, the scores of all labels in turn: call(head, modifier, scores).
  template <class Call>
  void score_labels(WeightView w, std::size_t length, Call call) {
    labels_.score_all(w, length, call);
  }

 private:
  // Call function(head, modifier, key) for the features of all arcs, also those of a word to itself.
  template <class Function>
  void visit_arcs(std::size_t length, Function function);
  template <class Function>
  void visit_plain(std::size_t line, std::size_t length, Function function) const;
  template <class Function>
  void visit_between(std::size_t line, std::size_t length, Function function);
  void compute_shapes(std::size_t length);

  const ArcFeatures& features_;
  const ParseWeights& layout_;
  std::array<KeyParts, 2> parts_;  // of arcs and siblings
  LabelScorer labels_;
  std::vector<FeatureKey> shapes_;  // of lines of arcs, by the distance from the head
  std::size_t farthest_ = 0;
  std::vector<FeatureKey> seen_;
  std::vector<ArcFeature> found_;
  std::vector<double> sibling_scores_;
};

}  // namespace marginloom
