// Probabilities of heads and labels of the task of finding trees.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "core/log_sum.hpp"
#include "tasks/parse/parse_buffers.hpp"

namespace marginloom {

std::string ParseTask::why_no_marginals() const {
  if (is_exact()) return {};
  return "trees of second order that need not be projective are not searched exactly, so they have no probabilities; "
         "train with order 1 or with projective trees";
}

void ParseTask::score_choices(std::size_t i, WeightView w, Scratch& scratch) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  score_arcs(i, w, buffers);
  TreeMarginals& trees = buffers.marginals;
  trees.start(buffers.scores);
  if (labelled()) {
    buffers.scorer.score_labels(w, length(i), [&](std::size_t h, std::size_t m, const double* labels) {
      trees.add_labels(h, m, options_.allowed.of(h), labels, options_.label_count);
    });
  }
  for (std::size_t h = 0; options_.siblings && h <= length(i); ++h) {
    for (std::size_t m = 1; m <= length(i); ++m) {
      if (h != m) trees.add_siblings(h, m, buffers.scorer.score_siblings(w, h, m));
    }
  }
}

void ParseTask::marginals(std::size_t i, const Tempering& tempering, const MarginalQuery& query,
                          Scratch& scratch) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  const std::size_t count = length(i);
  std::ranges::fill(query.wholes, 0.0);
  if (count == 0) return;
  TreeMarginals& trees = buffers.marginals;
  if (!trees.compute(tempering.scale, {options_.projective, options_.one_root})) {
    throw std::overflow_error("the scores of sentence " + std::to_string(i) + " exceed double precision");
  }
  const std::size_t labels = choices_per_head();
  for (std::size_t k = 0; k < query.table.size(); ++k) {
    const std::size_t m = k / choice_count(i) + 1;
    const std::size_t h = k % choice_count(i) / labels;
    query.table[k] = trees.arc(h, m) == 0 ? 0 : trees.arc(h, m) * std::exp(trees.log_label(h, m, k % labels));
  }
  for (std::size_t k = 0; k < query.outputs.size(); ++k) {
    const Choice choice = query.outputs[k];
    const std::size_t m = k % count + 1;
    query.parts[k] = choice == no_choice ? std::numeric_limits<double>::quiet_NaN()
                                         : std::log(trees.arc(choice / labels, m)) +
                                               trees.log_label(choice / labels, m, choice % labels);
  }
  for (std::size_t j = 0; j < query.wholes.size(); ++j) {
    const auto output = query.outputs.subspan(j * count, count);
    query.wholes[j] = std::numeric_limits<double>::quiet_NaN();
    if (std::ranges::find(output, no_choice) != output.end()) continue;
    buffers.heads.assign(count + 1, 0);
    double of_labels = 0;
    for (std::size_t m = 1; m <= count; ++m) {
      buffers.heads[m] = static_cast<Head>(output[m - 1] / labels);
      of_labels += trees.log_label(buffers.heads[m], m, output[m - 1] % labels);
    }
    query.wholes[j] = trees.log_tree(buffers.heads) + of_labels;
  }
}

}  // namespace marginloom
