// Probabilities of classes: p(y) is proportional to exp(scale times the score of y).
#include <cmath>
#include <limits>

#include "core/common.hpp"
#include "core/log_sum.hpp"
#include "tasks/multiclass/multiclass.hpp"

namespace marginloom {

void MulticlassTask::score_choices(std::size_t i, WeightView w, Scratch& scratch) const {
  auto& scores = static_cast<ScoredScratch&>(scratch).scores;
  if (scores.size() < score_count()) scores.resize(score_count());
  score(i, w, scores.data());
}

void MulticlassTask::marginals(std::size_t, const Tempering& tempering, const MarginalQuery& query,
                               Scratch& scratch) const {
  const double* const scores = static_cast<ScoredScratch&>(scratch).scores.data();
  // Of the best class, so that large scores lose nothing to rounding.
  const double best = scores[first_maximum(scores, class_count_)];
  const auto relative = [&](std::size_t y) { return tempering.scale * (scores[y] - best); };
  const double sum = log_sum_of(class_count_, relative);
  for (std::size_t y = 0; y < query.table.size(); ++y) query.table[y] = std::exp(relative(y) - sum);
  normalise(query.table);
  for (std::size_t j = 0; j < query.outputs.size(); ++j) {
    const Choice y = query.outputs[j];
    query.parts[j] = y == no_choice ? std::numeric_limits<double>::quiet_NaN() : relative(y) - sum;
    if (!query.wholes.empty()) query.wholes[j] = query.parts[j];
  }
}

}  // namespace marginloom
