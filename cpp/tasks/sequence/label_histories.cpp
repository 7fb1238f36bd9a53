#include "tasks/sequence/label_histories.hpp"

#include <limits>
#include <numeric>

#include "core/common.hpp"

namespace marginloom {

LabelHistories::LabelHistories(const LabelHistoryData& data) : data_(data) {
  check();
  note_reaches();
  if (data_.triples) index_pairs();
}

void LabelHistories::check() const {
  const auto& offsets = data_.observations;
  const std::size_t any = data_.label_count;
  require(any >= 1 && any < 65536, "histories need 1 to 65,535 labels");
  require(size() < std::numeric_limits<std::uint32_t>::max(), "there are at most 4,294,967,294 histories");
  require(data_.histories.size() == size(), "histories and their labels differ in length");
  require(!offsets.empty() && offsets.front() == 0 && offsets.back() == size() && std::ranges::is_sorted(offsets),
          "the offsets of observations must start with 0, ascend and end at the last history");
  require(!data_.triples || offsets.size() > 1, "the observation of every token is missing");
  require(std::ranges::all_of(data_.labels, [&](LabelIndex label) { return label < any; }),
          "a label after a history is beyond the number of labels");
  for (std::size_t o = 0; o + 1 < offsets.size(); ++o) {
    for (std::size_t j = offsets[o]; j < offsets[o + 1]; ++j) {
      require(before_that(j) <= any && !(before(j) == any && before_that(j) == any),
              "a history is beyond the number of labels");
      require((before(j) == any) == (before(offsets[o]) == any) &&
                  (before_that(j) == any) == (before_that(offsets[o]) == any),
              "the histories of an observation differ in what they consist of");
      require(j == offsets[o] || data_.histories[j - 1] < data_.histories[j] ||
                  (data_.histories[j - 1] == data_.histories[j] && data_.labels[j - 1] < data_.labels[j]),
              "the histories of an observation must ascend");
    }
  }
}

void LabelHistories::note_reaches() {
  const std::size_t any = data_.label_count;
  reach_.resize(data_.observations.size() - 1, Reach::before);
  for (std::size_t o = 0; o < reach_.size(); ++o) {
    const auto [first, last] = combinations(o);
    if (first == last) continue;
    if (before_that(first) != any) reach_[o] = before(first) == any ? Reach::before_that : Reach::both;
  }
  if (!data_.triples) return;
  const auto [first, last] = combinations(of_every_token());
  require(first == last || reach_.back() == Reach::both, "the histories of every token are not pairs of labels");
  reach_.back() = Reach::both;
}

// A table of all pairs, where it is small: searches look up a pair or more for every token.
void LabelHistories::index_pairs() {
  constexpr std::size_t many = 1 << 20;
  const std::size_t side = data_.label_count + 1;
  if (side * side > many) return;
  const auto [first, last] = combinations(of_every_token());
  pairs_.assign(side * side + 1, 0);
  for (std::size_t j = first; j < last; ++j) ++pairs_[data_.histories[j] + 1];
  pairs_.front() = static_cast<std::uint32_t>(first);
  std::partial_sum(pairs_.begin(), pairs_.end(), pairs_.begin());
}

LabelHistories::Range LabelHistories::searched(std::size_t observation, std::uint32_t history) const {
  const auto [first, last] = combinations(observation);
  const auto all = data_.histories.subspan(first, last - first);
  const auto found = std::ranges::equal_range(all, history);
  const auto begin = first + static_cast<std::size_t>(found.begin() - all.begin());
  return {begin, begin + found.size()};
}

std::size_t LabelHistories::find(std::size_t observation, std::uint32_t history, std::size_t label) const {
  const auto [first, last] = combinations(observation, history);
  const auto labels = data_.labels.subspan(first, last - first);
  const auto found = std::ranges::lower_bound(labels, label);
  if (found == labels.end() || *found != label) return none;
  return first + static_cast<std::size_t>(found - labels.begin());
}

}  // namespace marginloom
