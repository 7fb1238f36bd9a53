// Tokens that can have some of the labels only, by their kind.
#include <algorithm>
#include <limits>

#include "core/common.hpp"
#include "tasks/sequence/sequence.hpp"

namespace marginloom {

void SequenceTask::check_kinds() const {
  const auto& kinds = data_.kinds;
  require(kinds.empty() == data_.allowed.empty(), "kinds of tokens and their labels are given together");
  if (kinds.empty()) return;
  require(options_.order == 1 && !data_.dense, "kinds of tokens need sparse features and first order");
  require(kinds.size() == data_.sentences.back() && data_.allowed.size() % data_.label_count == 0,
          "there must be one kind per token, and a column per label");
  const std::size_t count = data_.allowed.size() / data_.label_count;
  for (std::size_t kind = 0; kind < count; ++kind) {
    const auto row = data_.allowed.subspan(kind * data_.label_count, data_.label_count);
    require(std::ranges::any_of(row, [](std::uint8_t there) { return there != 0; }), "a kind of tokens has no label");
  }
  require(std::ranges::all_of(kinds, [&](std::uint8_t kind) { return kind < count; }),
          "a kind of tokens is beyond the last one");
}

bool SequenceTask::are_allowed(std::size_t i, std::span<const LabelIndex> labels) const {
  for (std::size_t t = 0; t < labels.size(); ++t) {
    if (!is_allowed(data_.sentences[i] + t, labels[t])) return false;
  }
  return true;
}

void SequenceTask::mask_labels(std::size_t i, std::span<double> scores) const {
  for (std::size_t t = 0; t < length(i); ++t) {
    for (std::size_t label = 0; label < data_.label_count; ++label) {
      if (!is_allowed(data_.sentences[i] + t, label)) {
        scores[t * stride_ + label] = -std::numeric_limits<double>::infinity();
      }
    }
  }
}

}  // namespace marginloom
