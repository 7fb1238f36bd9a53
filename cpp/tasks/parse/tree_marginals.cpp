#include "tasks/parse/tree_marginals.hpp"

#include <algorithm>
#include <cmath>

#include "core/log_sum.hpp"
#include "tasks/parse/arc_features.hpp"

namespace marginloom {

void TreeMarginals::start(const ArcScores& arcs) {
  arcs_ = &arcs;
  side_ = arcs.length() + 1;
  label_count_ = 0;
  labels_.clear();
  siblings_.clear();
}

void TreeMarginals::add_labels(std::size_t head, std::size_t modifier, std::span<const std::uint16_t> allowed,
                               const double* scores, std::size_t label_count) {
  if (labels_.empty()) {
    label_count_ = label_count;
    labels_.assign(side_ * side_ * label_count, log_of_zero);
  }
  double* const own = labels_.data() + place(head, modifier) * label_count;
  for (const std::uint16_t label : allowed) own[label] = scores[label];
}

void TreeMarginals::add_siblings(std::size_t head, std::size_t modifier, const double* scores) {
  if (siblings_.empty()) first_sibling_.resize(side_ * side_);
  first_sibling_[place(head, modifier)] = siblings_.size();
  siblings_.push_back(scores[0]);
  const std::size_t first = std::min(head, modifier) + 1;
  siblings_.insert(siblings_.end(), scores + first, scores + std::max(head, modifier));
}

const double* TreeMarginals::scaled_siblings(std::size_t head, std::size_t modifier) {
  const double* const own = siblings_.data() + first_sibling_[place(head, modifier)];
  row_.resize(side_);
  row_[0] = scale_ * own[0];
  const std::size_t first = std::min(head, modifier) + 1;
  for (std::size_t s = first; s < std::max(head, modifier); ++s) row_[s] = scale_ * own[1 + s - first];
  return row_.data();
}

// Every tree has one arc into each word, so what all arcs into it have in common changes no probability.
void TreeMarginals::weigh_arcs() {
  const std::size_t length = side_ - 1;
  weights_.resize(length);
  label_sums_.assign(labels_.empty() ? 0 : side_ * side_, 0.0);
  best_labels_.assign(label_sums_.size(), 0.0);
  for (std::size_t m = 1; m <= length; ++m) {
    double greatest = log_of_zero;
    for (std::size_t h = 0; h <= length; ++h) {
      if (h == m) continue;
      double weight = scale_ * arcs_->at(h, m);
      if (!labels_.empty()) {
        const double* const own = labels_.data() + place(h, m) * label_count_;
        const double best = *std::max_element(own, own + label_count_);
        const auto relative = [&](std::size_t label) { return scale_ * (own[label] - best); };
        best_labels_[place(h, m)] = best;
        label_sums_[place(h, m)] = log_sum_of(label_count_, relative);
        weight += scale_ * best + label_sums_[place(h, m)];
      }
      weights_.at(h, m) = weight;
      greatest = std::max(greatest, weight);
    }
    for (std::size_t h = 0; h <= length && greatest != log_of_zero; ++h) weights_.at(h, m) -= greatest;
  }
}

bool TreeMarginals::compute(double scale, const TreeKind& kind) {
  scale_ = scale;
  weigh_arcs();
  if (!siblings_.empty()) {
    const auto siblings = [&](std::size_t head, std::size_t modifier) { return scaled_siblings(head, modifier); };
    sum_ = projective_.second_order(weights_, kind.one_root, siblings, probabilities_);
  } else if (kind.projective) {
    sum_ = projective_.first_order(weights_, kind.one_root, probabilities_);
  } else {
    sum_ = any_.marginals(weights_, kind.one_root, probabilities_);
  }
  if (!std::isfinite(sum_)) return false;
  for (std::size_t m = 1; m < side_; ++m) {
    double sum = 0;
    for (std::size_t h = 0; h < side_; ++h) sum += probabilities_.at(h, m);
    for (std::size_t h = 0; h < side_; ++h) probabilities_.at(h, m) /= sum;
  }
  return true;
}

double TreeMarginals::log_label(std::size_t head, std::size_t modifier, std::size_t label) const {
  if (labels_.empty()) return 0;
  const double score = labels_[place(head, modifier) * label_count_ + label];
  const std::size_t arc = place(head, modifier);
  return score == log_of_zero ? score : scale_ * (score - best_labels_[arc]) - label_sums_[arc];
}

double TreeMarginals::log_tree(std::span<const Head> heads) const {
  double sum = -sum_;
  for (std::size_t m = 1; m < side_; ++m) {
    sum += weights_.at(heads[m], m);
    if (siblings_.empty()) continue;
    const std::size_t sibling = nearest_sibling(heads, m);
    const std::size_t first = std::min<std::size_t>(heads[m], m) + 1;
    sum += scale_ * siblings_[first_sibling_[place(heads[m], m)] + (sibling == 0 ? 0 : 1 + sibling - first)];
  }
  return std::min(sum, 0.0);
}

}  // namespace marginloom
