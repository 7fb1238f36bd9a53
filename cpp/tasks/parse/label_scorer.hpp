// Scores of the labels that arcs of one sentence can have.
#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned_vector.hpp"
#include "core/types.hpp"
#include "tasks/parse/arc_templates.hpp"
#include "tasks/parse/key_table.hpp"

namespace marginloom {

// Memory of one thread. Rows of `stride` weights, a column a label, begin at the weight `first`.
class LabelScorer {
 public:
  LabelScorer(const ArcTemplates& templates, const FeatureNumbers& numbers, std::size_t first, std::size_t stride);

  void load(const WordValues& words) { templates_.compute_parts(words, parts_); }
  [[nodiscard]] const KeyParts& parts() const { return parts_; }

  // What one word of an arc and its direction say, once for all of its arcs: to be called first with new weights.
  void begin(WeightView w, std::size_t length);
  // The scores of all labels of an arc, until the next call.
  [[nodiscard]] double* score(WeightView w, std::size_t head, std::size_t modifier) {
    find_pair_rows(w, head, modifier, rows_);
    add_rows(w, head, modifier);
    return scores_.data();
  }

  // For every arc, the same in turn: call(head, modifier, scores).
  template <class Call>
  void score_all(WeightView w, std::size_t length, Call call);

 private:
  using Rows = std::vector<std::uint32_t>;

  void find_pair_rows(WeightView w, std::size_t head, std::size_t modifier, Rows& rows) const;
  void add_rows(WeightView w, std::size_t head, std::size_t modifier);

  const ArcTemplates& templates_;
  const FeatureNumbers& numbers_;
  std::size_t first_;
  std::size_t stride_;
  KeyParts parts_;
  std::vector<std::size_t> pair_lines_, word_lines_;  // those that read both words of an arc, and the others
  AlignedVector<double> word_scores_;                 // a row of labels for each direction, role and word
  AlignedVector<double> scores_;
  Rows rows_, coming_rows_;  // of an arc, and of the next one
};

template <class Call>
void LabelScorer::score_all(WeightView w, std::size_t length, Call call) {
  if (length == 0) return;
  begin(w, length);
  for (std::size_t h = 0; h <= length; ++h) {
    find_pair_rows(w, h, 1, coming_rows_);
    for (std::size_t m = 1; m <= length; ++m) {
      rows_.swap(coming_rows_);
      if (m < length) find_pair_rows(w, h, m + 1, coming_rows_);
      if (m == h) continue;
      add_rows(w, h, m);
      call(h, m, scores_.data());
    }
  }
}

}  // namespace marginloom
