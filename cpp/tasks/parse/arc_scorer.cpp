#include "tasks/parse/arc_scorer.hpp"

#include <algorithm>
#include <numeric>

#include "core/interruption.hpp"
#include "core/kernels.hpp"

namespace marginloom {
namespace {

using Kind = ArcTemplates::Kind;

}  // namespace

ParseWeights::ParseWeights(const ArcFeatures& features, std::size_t label_count) {
  siblings = features.numbers(Kind::arc).size();
  stride = padded(label_count);
  labels = padded(siblings + features.numbers(Kind::sibling).size());
  size = labels + features.numbers(Kind::label).size() * stride;
}

void ArcScorer::load(const WordValues& words, bool siblings, bool labels) {
  features_.templates(Kind::arc).compute_parts(words, parts_[0]);
  if (siblings) features_.templates(Kind::sibling).compute_parts(words, parts_[1]);
  if (labels) labels_.load(words);
  compute_shapes(words.length);
}

void ArcScorer::compute_shapes(std::size_t length) {
  if (length <= farthest_ && !shapes_.empty()) return;
  const ArcTemplates& templates = features_.templates(Kind::arc);
  farthest_ = std::max(length, 2 * farthest_);
  const std::size_t width = 2 * farthest_ + 1;
  shapes_.resize(templates.size() * width);
  for (std::size_t line = 0; line < templates.size(); ++line) {
    for (std::size_t place = 0; place < width; ++place) {
      shapes_[line * width + place] = templates.shape(line, farthest_, place);
    }
  }
}

void ArcScorer::score_arcs(WeightView w, ArcScores& scores) {
  features_.numbers(Kind::arc).with_weights([&](auto weight) {
    visit_arcs(scores.length(),
               [&](std::size_t h, std::size_t m, FeatureKey key) { scores.at(h, m) += weight(w.data(), key); });
  });
}

template <class Function>
void ArcScorer::visit_arcs(std::size_t length, Function function) {
  const ArcTemplates& templates = features_.templates(Kind::arc);
  for (std::size_t line = 0; line < templates.size(); ++line) {
    if (templates.has_between(line)) {
      visit_between(line, length, function);
    } else {
      visit_plain(line, length, function);
    }
  }
}

template <class Function>
void ArcScorer::visit_plain(std::size_t line, std::size_t length, Function function) const {
  const FeatureKey* const heads = parts_[0].head(line);
  const FeatureKey* const modifiers = parts_[0].modifier(line);
  const FeatureKey* const middle = shapes_.data() + line * (2 * farthest_ + 1) + farthest_;
  const bool all = std::find(modifiers + 1, modifiers + length + 1, FeatureKey{0}) == modifiers + length + 1;
  for (std::size_t h = 0; h <= length; ++h) {
    if (h % 64 == 0) count_steps(64 * length);
    const FeatureKey first = heads[h];
    if (first == 0) continue;
    const FeatureKey* const shape = middle - h;
    if (all) {
      for (std::size_t m = 1; m <= length; ++m) function(h, m, first + modifiers[m] + shape[m]);
    } else {
      for (std::size_t m = 1; m <= length; ++m) {
        if (modifiers[m] != 0) function(h, m, first + modifiers[m] + shape[m]);
      }
    }
  }
}

// For each head outwards, so that what lies between grows by a word at a time.
template <class Function>
void ArcScorer::visit_between(std::size_t line, std::size_t length, Function function) {
  const FeatureKey* const heads = parts_[0].head(line);
  const FeatureKey* const modifiers = parts_[0].modifier(line);
  const FeatureKey* const others = parts_[0].other(line);
  const FeatureKey* const middle = shapes_.data() + line * (2 * farthest_ + 1) + farthest_;
  for (std::size_t h = 0; h <= length; ++h) {
    if (heads[h] == 0) continue;
    count_steps(8 * length);
    const auto look = [&](std::size_t m) {
      if (modifiers[m] != 0) {
        const FeatureKey sum = heads[h] + modifiers[m] + middle[static_cast<std::ptrdiff_t>(m - h)];
        for (const FeatureKey other : seen_) function(h, m, sum + other);
      }
      if (others[m] != 0 && std::ranges::find(seen_, others[m]) == seen_.end()) seen_.push_back(others[m]);
    };
    seen_.clear();
    for (std::size_t m = h + 1; m <= length; ++m) look(m);
    seen_.clear();
    for (std::size_t m = h; m-- > 1;) look(m);
  }
}

void ArcScorer::score_arcs(const KeptArcs& kept, WeightView w, ArcScores& scores) {
  const std::size_t length = scores.length();
  const std::uint32_t* number = kept.numbers.data();
  std::size_t arc = 0;
  for (std::size_t h = 0; h <= length; ++h) {
    count_steps(8 * length);
    for (std::size_t m = 1; m <= length; ++m, ++arc) {
      double sum = 0;
      for (const std::uint32_t* const end = kept.numbers.data() + kept.ends[arc]; number != end; ++number) {
        sum += w[*number];
      }
      scores.at(h, m) = sum;
    }
  }
}

KeptArcs ArcScorer::keep(std::size_t length) {
  KeptArcs kept;
  kept.ends.assign((length + 1) * length, 0);
  found_.clear();
  const FeatureNumbers& numbers = features_.numbers(Kind::arc);
  visit_arcs(length, [&](std::size_t h, std::size_t m, FeatureKey key) {
    const std::uint32_t number = h == m ? KeyTable::unknown : numbers.find(key);
    if (number == KeyTable::unknown) return;
    const auto arc = static_cast<std::uint32_t>(h * length + m - 1);
    found_.push_back({arc, number});
    ++kept.ends[arc];
  });
  std::exclusive_scan(kept.ends.begin(), kept.ends.end(), kept.ends.begin(), std::uint32_t{0});
  kept.numbers.resize(found_.size());
  for (const ArcFeature& feature : found_) kept.numbers[kept.ends[feature.arc]++] = feature.number;
  return kept;
}

double ArcScorer::score_sibling(WeightView w, std::size_t head, std::size_t sibling, std::size_t modifier) const {
  double sum = 0;
  const FeatureNumbers& numbers = features_.numbers(Kind::sibling);
  features_.templates(Kind::sibling)
      .visit_sibling(parts_[1], head, sibling, modifier, [&](std::size_t, FeatureKey key, std::size_t) {
        const std::uint32_t number = numbers.find(key);
        if (number != KeyTable::unknown) sum += w[layout_.siblings + number];
      });
  return sum;
}

const double* ArcScorer::score_siblings(WeightView w, std::size_t head, std::size_t modifier) {
  const ArcTemplates& templates = features_.templates(Kind::sibling);
  const KeyParts& parts = parts_[1];
  const double* const own = w.data() + layout_.siblings;
  const std::size_t first = std::min(head, modifier) + 1;
  const std::size_t last = std::max(head, modifier);
  sibling_scores_.resize(std::max(sibling_scores_.size(), parts.positions()));
  double* const scores = sibling_scores_.data();
  scores[0] = 0;
  std::fill(scores + first, scores + last, 0.0);
  features_.numbers(Kind::sibling).with_weights([&](auto weight) {
    for (std::size_t line = 0; line < templates.size(); ++line) {
      const FeatureKey of_head = parts.head(line)[head];
      const FeatureKey of_modifier = parts.modifier(line)[modifier];
      if (of_head == 0 || of_modifier == 0) continue;
      const FeatureKey sum = of_head + of_modifier + templates.shape(line, head, modifier);
      const FeatureKey* const others = parts.other(line);
      scores[0] += weight(own, sum + others[0]);
      for (std::size_t s = first; s < last; ++s) {
        if (others[s] != 0) scores[s] += weight(own, sum + others[s]);
      }
    }
  });
  return scores;
}

}  // namespace marginloom
