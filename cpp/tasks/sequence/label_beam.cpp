#include "tasks/sequence/label_beam.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/interruption.hpp"
#include "core/kernels.hpp"
#include "tasks/sequence/viterbi.hpp"

namespace marginloom {

double LabelBeam::search(const HistoryChain& chain, std::size_t beam) {
  start(chain, beam);
  while (length() < chain.length && !last().empty()) step(chain);
  return last().empty() ? never : last().front().score;
}

double LabelBeam::follow(const HistoryChain& chain, std::size_t beam, std::span<const LabelIndex> gold,
                         PrefixChoice& choice) {
  constexpr std::size_t gone = static_cast<std::size_t>(-1);
  start(chain, beam);
  double score = chain.tokens[gold[0]];
  std::size_t place = 0;  // of gold's prefix among all states
  for (std::size_t t = 0; t < chain.length; ++t) {
    if (t > 0) {
      score = chain.step(t, gold[t < 2 ? 0 : t - 2], gold[t - 1], gold[t], score);
      step(chain);
    }
    if (last().empty()) return never;
    const std::size_t first = first_[t];
    const auto is_gold = [&](const State& state) {
      return state.label == gold[t] && (t == 0 || (state.before == gold[t - 1] && state.previous == place));
    };
    const auto found = place == gone ? last().end() : std::ranges::find_if(last(), is_gold);
    place = found == last().end() ? gone : first + static_cast<std::size_t>(found - last().begin());
    choice.take(last().front().score, score, place != gone);
    if (choice.ends_search()) break;
  }
  return last().front().score;
}

void LabelBeam::prefix(std::size_t length, std::vector<LabelIndex>& labels) const {
  labels.resize(length);
  std::size_t place = first_[length - 1];
  for (std::size_t t = length; t-- > 0;) {
    labels[t] = states_[place].label;
    place = states_[place].previous;
  }
}

void LabelBeam::start(const HistoryChain& chain, std::size_t beam) {
  beam_ = beam;
  states_.clear();
  first_.assign(1, 0);
  row_with_.assign(chain.labels, nowhere);
  shared_.assign(chain.stride, never);
  rows_.assign(1, {0, 0, 0});
  labels_.assign(1, 0);
  different_ = 1;
  scores_.assign(chain.stride, never);
  std::copy_n(chain.tokens, chain.labels, scores_.begin());
  keep_best(chain.stride);
}

void LabelBeam::step(const HistoryChain& chain) {
  make_rows();
  count_steps((rows_.size() + 1) * chain.stride / 4);
  std::copy_n(chain.token(length()), chain.labels, shared_.begin());
  scores_.resize(rows_.size() * chain.stride);
  kernels().each_plus(before_.data(), shared_.data(), chain.transitions, labels_.data(), rows_.size(), chain.stride,
                      scores_.data());
  for (std::size_t row = 0; row < rows_.size(); ++row) add_histories(chain, row);
  keep_best(chain.stride);
}

void LabelBeam::make_rows() {
  rows_.clear();
  before_.clear();
  labels_.clear();
  others_.clear();
  for (std::size_t k = first_[first_.size() - 2]; k < states_.size(); ++k) {
    const auto number = static_cast<std::uint32_t>(k);
    std::uint32_t& first = row_with_[states_[k].label];
    if (first != nowhere) {
      others_.push_back(number);
      continue;
    }
    first = static_cast<std::uint32_t>(rows_.size());
    add_row(number, first);
  }
  different_ = rows_.size();
  for (const std::uint32_t state : others_) add_row(state, row_with_[states_[state].label]);
  for (std::size_t row = 0; row < different_; ++row) row_with_[labels_[row]] = nowhere;
}

void LabelBeam::add_row(std::uint32_t state, std::uint32_t alike) {
  rows_.push_back({state, states_[state].before, alike});
  before_.push_back(states_[state].score);
  labels_.push_back(states_[state].label);
}

void LabelBeam::add_histories(const HistoryChain& chain, std::size_t row) {
  const LabelHistories& histories = *chain.histories;
  double* const scores = scores_.data() + row * chain.stride;
  const auto add = [&](std::size_t observation, LabelHistories::Reach reach) {
    const auto [first, last] =
        histories.combinations(observation, histories.history(reach, rows_[row].before, labels_[row]));
    for (std::size_t j = first; j < last; ++j) scores[histories.label(j)] += chain.weights[j];
  };
  chain.for_observations(length(), 1,
                         [&](std::size_t observation) { add(observation, LabelHistories::Reach::before); });
  if (length() < 2) return;
  chain.for_observations(length(), 2, [&](std::size_t observation) {
    const LabelHistories::Reach reach = histories.reach(observation);
    if (reach != LabelHistories::Reach::before) add(observation, reach);
  });
}

// Makes states of the best prefixes. Of those with the same two last labels, which are in rows that are alike, only the
// first is kept; the rows of different labels have as many as a beam holds, if there are so many.
void LabelBeam::keep_best(std::size_t stride) {
  const auto precedes = [&](std::uint32_t one, std::uint32_t other) {
    const auto order = [&](std::uint32_t place) {
      return std::tuple(place % stride, labels_[place / stride], rows_[place / stride].before);
    };
    return order(one) < order(other);
  };
  const auto places = leading_.find(scores_.data(), scores_.size(), beam_, precedes, different_ * stride);
  if (kept_at_.size() < scores_.size() || ++time_ == 0) {
    kept_at_.assign(scores_.size(), 0);
    time_ = 1;
  }
  const auto width = static_cast<std::uint32_t>(stride);
  const std::size_t end = states_.size() + beam_;
  for (const std::uint32_t place : places) {
    if (states_.size() == end) break;
    const std::uint32_t row = place / width;
    const std::uint32_t label = place % width;
    if (std::exchange(kept_at_[rows_[row].alike * width + label], time_) == time_) continue;
    states_.push_back({scores_[place], static_cast<std::uint16_t>(label), static_cast<std::uint16_t>(labels_[row]),
                       rows_[row].state});
  }
  first_.push_back(states_.size());
}

}  // namespace marginloom
