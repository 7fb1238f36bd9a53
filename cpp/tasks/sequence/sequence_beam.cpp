// Sequence tasks that look two labels back, and those whose search is a beam.
#include <limits>
#include <ranges>

#include "tasks/sequence/sequence_buffers.hpp"

namespace marginloom {

// Which labels constraints leave that so many tokens can still follow. A prefix that ends in another one has no place
// in the beam, where it might be all that is left.
void SequenceTask::note_dead_ends() {
  if (forbidden_.empty()) return;
  const std::size_t boundary = data_.label_count;
  const std::size_t side = boundary + 1;
  std::size_t longest = 1;
  for (std::size_t i = 0; i < size(); ++i) longest = std::max(longest, length(i));
  std::vector<bool> ends(boundary);
  for (std::size_t label = 0; label < boundary; ++label) ends[label] = !forbidden_[label * side + boundary];
  continues_.push_back(std::move(ends));
  while (continues_.size() < longest) {
    const std::vector<bool>& after = continues_.back();
    std::vector<bool> before(boundary);
    for (std::size_t label = 0; label < boundary; ++label) {
      before[label] = std::ranges::any_of(std::views::iota(std::size_t{0}, boundary), [&](std::size_t next) {
        return after[next] && !forbidden_[label * side + next];
      });
    }
    if (before == after) return;
    continues_.push_back(std::move(before));
  }
}

void SequenceTask::mask_dead_ends(std::size_t i, Buffers& buffers) const {
  if (continues_.empty()) return;
  for (std::size_t t = 0; t < length(i); ++t) {
    const std::vector<bool>& allowed = continues_[std::min(length(i) - 1 - t, continues_.size() - 1)];
    double* scores = buffers.scores.data() + t * stride_;
    for (std::size_t label = 0; label < data_.label_count; ++label) {
      if (!allowed[label]) scores[label] = -std::numeric_limits<double>::infinity();
    }
  }
}

// A chain in which two labels before a token count, over buffers.scores.
HistoryChain SequenceTask::history_chain(std::size_t i, WeightView w, Buffers& buffers) const {
  const bool copies = !options_.forbidden.empty() || buffers.copies_transitions;
  if (copies) copy_transitions(i, w, buffers);
  return {.tokens = buffers.scores.data(),
          .transitions = copies ? buffers.transitions.data() : w.data(),
          .length = length(i),
          .labels = data_.label_count,
          .stride = stride_,
          .histories = data_.histories,
          .weights = w.data() + first_combination(),
          .observations = observations(i)};
}

void SequenceTask::predict_by_beam(std::size_t i, WeightView w, Buffers& buffers, std::vector<Output>& outputs) const {
  mask_dead_ends(i, buffers);
  const double score = buffers.beam.search(history_chain(i, w, buffers), options_.beam);
  check_score(score, i);
  Output& output = outputs.emplace_back();
  output.score = score;
  output.upper_bound = std::numeric_limits<double>::infinity();
  buffers.beam.prefix(length(i), buffers.labels);
  encode(buffers.labels, output.bytes);
}

double SequenceTask::find_by_beam(std::size_t i, WeightView w, Buffers& buffers, CandidateSink& sink) const {
  mask_dead_ends(i, buffers);
  const auto truth = gold(i);
  PrefixChoice choice(options_.update);
  check_score(buffers.beam.follow(history_chain(i, w, buffers), options_.beam, truth, choice), i);
  buffers.beam.prefix(buffers.beam.length(), buffers.labels);
  const bool wrong = !std::ranges::equal(buffers.labels, truth.first(buffers.labels.size()));
  if (!choice.has_candidate(wrong)) return 0;
  buffers.beam.prefix(choice.length(), buffers.labels);
  if (std::ranges::equal(buffers.labels, truth.first(choice.length()))) return 0;
  emit(i, buffers, sink);
  return std::max(choice.violation(), 0.0);
}

}  // namespace marginloom
