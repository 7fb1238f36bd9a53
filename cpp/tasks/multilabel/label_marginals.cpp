// Probabilities of labels and sets of labels.
//
// Labels that do not interact are present with probability 1 / (1 + exp(-g)), where g = scale s + offset. Where pairs
// form a forest, sums go from the leaves up as the maxima of max-product do (label_pairs.cpp): the label of a subtree's
// root absent and present. Then p(l | parent) follows, and from the roots down every marginal.
#include <cmath>
#include <limits>

#include "core/log_sum.hpp"
#include "tasks/multilabel/label_sets.hpp"
#include "tasks/multilabel/multilabel.hpp"
#include "tasks/multilabel/multilabel_buffers.hpp"

namespace marginloom {
namespace {

// log(1 / (1 + exp(-x)))
double log_logistic(double x) {
  return x > 0 ? -std::log1p(std::exp(-x)) : x - std::log1p(std::exp(x));
}

}  // namespace

void LabelPairs::forest_marginals(std::span<const double> gains, const double* weights, PairBuffers& buffers,
                                  LogMarginals result) const {
  auto& margins = buffers.on;  // what the presence of a label brings more than its absence, subtree and all
  margins.assign(gains.begin(), gains.end());
  for (std::size_t n = nodes_.size(); n-- > 0;) {
    const auto [label, parent, pair] = nodes_[n];
    if (label == parent) continue;
    margins[parent] += log_sum(0, margins[label] + weights[pair]) - log_sum(0, margins[label]);
  }
  for (const auto& [label, parent, pair] : nodes_) {
    const double margin = margins[label];
    if (label == parent) {
      result.present[label] = log_logistic(margin);
      result.absent[label] = log_logistic(-margin);
      continue;
    }
    const double pulled = margin + weights[pair];
    result.present[label] =
        log_sum(result.present[parent] + log_logistic(pulled), result.absent[parent] + log_logistic(margin));
    result.absent[label] =
        log_sum(result.present[parent] + log_logistic(-pulled), result.absent[parent] + log_logistic(-margin));
  }
}

double LabelPairs::log_probability(ByteView set, const double* weights, const PairBuffers& buffers) const {
  double sum = 0;
  for (const auto& [label, parent, pair] : nodes_) {
    const bool pulled = label != parent && has_label(set, parent);
    const double margin = buffers.on[label] + (pulled ? weights[pair] : 0);
    sum += log_logistic(has_label(set, label) ? margin : -margin);
  }
  return sum;
}

std::string MultilabelTask::why_no_marginals() const {
  if (pairs_.empty() || pairs_.is_forest()) return {};
  return "the pairs of labels have cycles, so their probabilities cannot be computed; train with pairs that form a "
         "tree (--interactions tree), or without interactions";
}

void MultilabelTask::score_choices(std::size_t i, WeightView w, Scratch& scratch) const {
  auto& scores = static_cast<ScoredScratch&>(scratch).scores;
  if (scores.size() < score_count()) scores.resize(score_count());
  score(i, w, scores.data());
}

void MultilabelTask::marginals(std::size_t i, const Tempering& tempering, const MarginalQuery& query,
                               Scratch& scratch) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  const std::size_t count = labels_of(i);
  const auto gains = std::span(buffers.gains).first(count);
  for (std::size_t l = 0; l < count; ++l) {
    const double offset = tempering.offsets.empty() ? 0 : tempering.offsets[first_label(i) + l];
    gains[l] = tempering.scale * buffers.scores[l] + offset;
  }
  buffers.log_present.resize(count);
  buffers.log_absent.resize(count);
  buffers.pair_scores.assign(buffers.scores.data() + first_pair(), buffers.scores.data() + score_count());
  for (double& score : buffers.pair_scores) score *= tempering.scale;
  if (pairs_.empty()) {
    for (std::size_t l = 0; l < count; ++l) {
      buffers.log_present[l] = log_logistic(gains[l]);
      buffers.log_absent[l] = log_logistic(-gains[l]);
    }
  } else {
    const LogMarginals result{buffers.log_present, buffers.log_absent};
    pairs_.forest_marginals(gains, buffers.pair_scores.data(), buffers.pairs, result);
  }
  for (std::size_t l = 0; 2 * l < query.table.size(); ++l) {
    const auto row = query.table.subspan(2 * l, 2);
    row[0] = std::exp(buffers.log_absent[l]);
    row[1] = std::exp(buffers.log_present[l]);
    normalise(row);
  }
  const auto log_of = [&](std::size_t l, Choice choice) {
    if (choice == no_choice) return std::numeric_limits<double>::quiet_NaN();
    return std::min(choice == 1 ? buffers.log_present[l] : buffers.log_absent[l], 0.0);
  };
  for (std::size_t k = 0; k < query.outputs.size(); ++k) query.parts[k] = log_of(k % count, query.outputs[k]);
  for (std::size_t j = 0; j < query.wholes.size(); ++j) {
    const auto output = query.outputs.subspan(j * count, count);
    double sum = 0;
    for (std::size_t l = 0; l < count; ++l) {
      sum += query.parts[j * count + l];
      put_label(buffers.set, l, output[l] == 1);
    }
    const bool whole = pairs_.empty() || std::isnan(sum);
    query.wholes[j] = whole ? sum : pairs_.log_probability(buffers.set, buffers.pair_scores.data(), buffers.pairs);
  }
}

}  // namespace marginloom
