// Probabilities of types and relations of the task of finding both.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "core/log_sum.hpp"
#include "tasks/relations/relations_buffers.hpp"

namespace marginloom {

// A part for every span, then one for every ordered pair; none where there are too many spans to enumerate.
std::size_t RelationsTask::part_count(std::size_t i) const {
  return spans(i) <= most_enumerated_spans ? spans(i) + pairs(i) : 0;
}

void RelationsTask::score_choices(std::size_t i, WeightView w, Scratch& scratch) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  if (part_count(i) == 0) return;
  score(i, w, buffers.scores);
  buffers.sums.start(table_, buffers.scores);
}

void RelationsTask::marginals(std::size_t i, const Tempering& tempering, const MarginalQuery& query,
                              Scratch& scratch) const {
  const std::size_t parts = part_count(i);
  std::ranges::fill(query.wholes, 0.0);
  if (parts == 0) return;
  TypeSums& sums = static_cast<Buffers&>(scratch).sums;
  if (!sums.compute(tempering.scale)) {
    throw std::overflow_error("the scores of sentence " + std::to_string(i) + " exceed double precision");
  }
  const std::size_t count = spans(i);
  const auto probability = [&](std::size_t part, std::size_t choice) {
    if (part < count) return choice < table_.types() ? sums.type(part, choice) : 0.0;
    const std::size_t head = (part - count) / (count - 1);
    const std::size_t place = (part - count) % (count - 1);
    return choice < table_.labels() ? sums.label(head, place + (place >= head ? 1 : 0), choice) : 0.0;
  };
  const std::size_t choices = choice_count(i);
  for (std::size_t part = 0; part * choices < query.table.size(); ++part) {
    for (std::size_t choice = 0; choice < choices; ++choice) {
      query.table[part * choices + choice] = probability(part, choice);
    }
    normalise(query.table.subspan(part * choices, choices));
  }
  for (std::size_t k = 0; k < query.outputs.size(); ++k) {
    const Choice choice = query.outputs[k];
    query.parts[k] = choice == no_choice ? std::numeric_limits<double>::quiet_NaN()
                                         : std::min(std::log(probability(k % parts, choice)), 0.0);
  }
  for (std::size_t j = 0; j < query.wholes.size(); ++j) {
    const auto output = query.outputs.subspan(j * parts, parts);
    const bool open = std::ranges::find(output, no_choice) != output.end();
    const bool beyond = std::ranges::any_of(output.first(count), [&](Choice type) { return type >= table_.types(); }) ||
                        std::ranges::any_of(output.subspan(count), [&](Choice y) { return y >= table_.labels(); });
    query.wholes[j] = open     ? std::numeric_limits<double>::quiet_NaN()
                      : beyond ? log_of_zero
                               : sums.log_output(output.data());
  }
}

}  // namespace marginloom
