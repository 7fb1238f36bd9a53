#include "tasks/parse/label_scorer.hpp"

#include "core/interruption.hpp"
#include "core/kernels.hpp"
#include "core/prefetch.hpp"

namespace marginloom {

LabelScorer::LabelScorer(const ArcTemplates& templates, const FeatureNumbers& numbers, std::size_t first,
                         std::size_t stride)
    : templates_(templates), numbers_(numbers), first_(first), stride_(stride) {
  for (std::size_t line = 0; line < templates_.size(); ++line) {
    const bool both = templates_.reads_head(line) && templates_.reads_modifier(line);
    (both || templates_.has_distance(line) ? pair_lines_ : word_lines_).push_back(line);
  }
}

void LabelScorer::begin(WeightView w, std::size_t length) {
  word_scores_.assign(4 * (length + 1) * stride_, 0.0);
  scores_.resize(stride_);
  for (std::size_t place = 0; place < 4 * (length + 1); ++place) {
    const std::size_t word = place / 4;
    const bool is_modifier = place % 2 == 1;
    const bool to_right = place % 4 >= 2;
    rows_.clear();
    for (const std::size_t line : word_lines_) {
      if (templates_.reads_modifier(line) != is_modifier) continue;
      const FeatureKey own = is_modifier ? parts_.modifier(line)[word] : parts_.head(line)[word];
      if (own == 0) continue;
      const FeatureKey rest = is_modifier ? parts_.head(line)[0] : parts_.modifier(line)[0];
      const std::uint32_t row = numbers_.find(own + rest + templates_.shape(line, !to_right, to_right));
      if (row != KeyTable::unknown) rows_.push_back(row);
    }
    kernels().add_rows(w.data() + first_, rows_.data(), rows_.size(), stride_, word_scores_.data() + place * stride_);
  }
}

// Weights of a model seldom are in a cache, so they are asked for as soon as it is known which ones.
void LabelScorer::find_pair_rows(WeightView w, std::size_t head, std::size_t modifier, Rows& rows) const {
  count_steps(stride_ + 8 * pair_lines_.size());
  rows.clear();
  for (const std::size_t line : pair_lines_) {
    const FeatureKey first = parts_.head(line)[head];
    const FeatureKey second = parts_.modifier(line)[modifier];
    if (first == 0 || second == 0) continue;
    const std::uint32_t row = numbers_.find(first + second + templates_.shape(line, head, modifier));
    if (row == KeyTable::unknown) continue;
    rows.push_back(row);
    prefetch_bytes(w.data() + first_ + row * stride_, stride_ * sizeof(double));
  }
}

void LabelScorer::add_rows(WeightView w, std::size_t head, std::size_t modifier) {
  const std::size_t direction = modifier > head ? 2 : 0;
  const double* const of_head = word_scores_.data() + (4 * head + direction) * stride_;
  const double* const of_modifier = word_scores_.data() + (4 * modifier + direction + 1) * stride_;
  for (std::size_t label = 0; label < stride_; ++label) scores_[label] = of_head[label] + of_modifier[label];
  kernels().add_rows(w.data() + first_, rows_.data(), rows_.size(), stride_, scores_.data());
}

}  // namespace marginloom
