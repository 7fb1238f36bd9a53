// Probabilities of labels and labellings of the task of labelling sequences.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tasks/sequence/sequence_buffers.hpp"

namespace marginloom {

std::string SequenceTask::why_no_marginals() const {
  if (options_.beam == 0) return {};
  return "a tagger with beam search has no probabilities: train without a beam";
}

void SequenceTask::score_choices(std::size_t i, WeightView w, Scratch& scratch) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  buffers.copies_transitions = false;
  if (length(i) == 0) return;
  score_tokens(i, w, buffers);
  if (options_.order == 2) {
    buffers.pair_marginals.start(history_chain(i, w, buffers));
    buffers.path_marginals = &buffers.pair_marginals;
  } else {
    start_chain(i, w, buffers);
    buffers.path_marginals = &buffers.chain_marginals;
  }
  const auto too_large = [](double score) { return std::isnan(score) || score == HUGE_VAL; };
  for (std::size_t t = 0; t < length(i); ++t) {
    const double* const scores = buffers.scores.data() + t * stride_;
    if (std::any_of(scores, scores + data_.label_count, too_large)) check_score(HUGE_VAL, i);
  }
}

void SequenceTask::start_chain(std::size_t i, WeightView w, Buffers& buffers) const {
  const double* transitions = w.data();
  if (copies_transitions(buffers)) {
    copy_transitions(i, w, buffers);
    transitions = buffers.transitions.data();
  }
  if (data_.histories) note_local_transitions(i, w, buffers);
  const LocalTransitions* const local = data_.histories ? &buffers.local : nullptr;
  buffers.chain_marginals.start(buffers.scores, {transitions, data_.label_count, stride_, local});
}

void SequenceTask::marginals(std::size_t i, const Tempering& tempering, const MarginalQuery& query,
                             Scratch& scratch) const {
  const std::size_t count = length(i);
  std::ranges::fill(query.wholes, 0.0);
  if (count == 0) return;
  auto& buffers = static_cast<Buffers&>(scratch);
  PathMarginals& chain = *buffers.path_marginals;
  if (!chain.compute(tempering.scale)) no_labelling(i);
  for (std::size_t t = 0; t * data_.label_count < query.table.size(); ++t) {
    chain.write_token(t, query.table.data() + t * data_.label_count);
  }
  for (std::size_t k = 0; k < query.outputs.size(); ++k) {
    const Choice label = query.outputs[k];
    query.parts[k] =
        label == no_choice ? std::numeric_limits<double>::quiet_NaN() : chain.log_marginal(k % count, label);
  }
  std::vector<PathMarginals::Labels> path(count);
  for (std::size_t j = 0; j < query.wholes.size(); ++j) {
    const auto output = query.outputs.subspan(j * count, count);
    query.wholes[j] = std::numeric_limits<double>::quiet_NaN();
    if (std::ranges::find(output, no_choice) != output.end()) continue;
    buffers.labels.assign(output.begin(), output.end());
    for (std::size_t t = 0; t < count; ++t) path[t] = std::span(buffers.labels).subspan(t, 1);
    query.wholes[j] = chain.log_probability(0, path);
  }
}

double SequenceTask::log_probability_of_run(std::size_t first, std::span<const PathMarginals::Labels> labels,
                                            const Scratch& scratch) {
  return static_cast<const Buffers&>(scratch).path_marginals->log_probability(first, labels);
}

}  // namespace marginloom
