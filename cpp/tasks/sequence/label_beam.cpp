#include "tasks/sequence/label_beam.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/interruption.hpp"
#include "core/kernels.hpp"
#include "tasks/sequence/viterbi.hpp"

namespace marginloom {
namespace {

constexpr std::size_t few = 32;  // states that are sorted by inserting them

}  // namespace

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
      score += chain.step(t, gold[t < 2 ? 0 : t - 2], gold[t - 1], gold[t]);
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
  steps_.resize(chain.stride);
  best_.resize(chain.stride);
  spare_.resize(chain.stride);
  places_.resize(chain.stride);
  next_.clear();
  threshold_ = never;
  offer_all(chain, chain.tokens, 0, 0, 0);
  keep_best();
  for (const Next& next : next_) states_.push_back({next.score, next.label(), 0, 0});
  first_.push_back(states_.size());
}

void LabelBeam::step(const HistoryChain& chain) {
  group_states();
  next_.clear();
  threshold_ = never;
  count_steps((grouped_.size() + 1) * chain.stride / 4);
  rows_.resize(grouped_.size() * chain.stride);
  scores_.resize(grouped_.size());
  for (std::uint32_t g = 0; g < groups_.size(); ++g) extend_group(chain, g);
  keep_best();
  end_step(chain);
}

// Those with the best states come first, so that the threshold is soon high.
void LabelBeam::group_states() {
  const std::size_t first = first_[first_.size() - 2];
  const std::size_t count = states_.size() - first;
  grouped_.clear();
  groups_.clear();
  if (count > few) return group_many();
  std::uint32_t done = 0;  // a bit for every state
  for (std::size_t k = 0; k < count; ++k) {
    if (done >> k & 1) continue;
    const std::size_t begin = grouped_.size();
    for (std::size_t j = k; j < count; ++j) {
      if (states_[first + j].label != states_[first + k].label) continue;
      done |= std::uint32_t{1} << j;
      grouped_.push_back(static_cast<std::uint32_t>(first + j));
    }
    add_group(begin, grouped_.size());
  }
}

void LabelBeam::group_many() {
  const std::size_t first = first_[first_.size() - 2];
  for (std::size_t k = first; k < states_.size(); ++k) grouped_.push_back(static_cast<std::uint32_t>(k));
  std::ranges::sort(grouped_, {}, [&](std::uint32_t k) { return std::pair(states_[k].label, k); });
  std::size_t begin = 0;
  for (std::size_t k = 1; k <= grouped_.size(); ++k) {
    if (k < grouped_.size() && states_[grouped_[k]].label == states_[grouped_[begin]].label) continue;
    add_group(begin, k);
    begin = k;
  }
  std::ranges::sort(groups_, {}, &Group::best);
}

// Makes a group of these states.
void LabelBeam::add_group(std::size_t first, std::size_t last) {
  const auto group = std::span(grouped_).subspan(first, last - first);
  groups_.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last), group.front()});
  if (group.size() > 1) std::ranges::sort(group, {}, [&](std::uint32_t k) { return states_[k].before; });
}

void LabelBeam::extend_group(const HistoryChain& chain, std::uint32_t group) {
  const std::size_t first = groups_[group].first;
  const std::size_t last = groups_[group].last;
  const std::size_t before = states_[grouped_[first]].label;
  score_steps(chain, before);
  for (std::size_t k = first; k < last; ++k) {
    const State& state = states_[grouped_[k]];
    double* row = steps_.data();
    if (last - first > 1) {
      row = rows_.data() + k * chain.stride;
      std::ranges::copy(steps_, row);
    }
    if (length() >= 2) add_histories(chain, state.before, before, row);
    scores_[k] = state.score;
  }
  if (last - first == 1) return offer_all(chain, steps_.data(), scores_[first], group, before);
  kernels().max_plus(scores_.data() + first, rows_.data() + first * chain.stride, nullptr, last - first, chain.stride,
                     best_.data(), spare_.data());
  offer_all(chain, best_.data(), 0, group, before);
}

// What labels score after `before`, whatever label is before that: into steps_, minus infinity in its padding.
void LabelBeam::score_steps(const HistoryChain& chain, std::size_t before) {
  const LabelHistories& histories = *chain.histories;
  const auto row = static_cast<std::uint32_t>(before);
  std::copy_n(chain.token(length()), chain.stride, steps_.begin());
  kernels().add_rows(chain.transitions, &row, 1, chain.stride, steps_.data());
  std::fill(steps_.begin() + static_cast<std::ptrdiff_t>(chain.labels), steps_.end(), never);
  const std::uint32_t history = histories.history(LabelHistories::Reach::before, 0, before);
  chain.for_observations(length(), 1, [&](std::size_t observation) {
    const auto [first, last] = histories.combinations(observation, history);
    for (std::size_t j = first; j < last; ++j) steps_[histories.label(j)] += chain.weights[j];
  });
}

void LabelBeam::add_histories(const HistoryChain& chain, std::size_t before_that, std::size_t before,
                              double* row) const {
  const LabelHistories& histories = *chain.histories;
  chain.for_observations(length(), 2, [&](std::size_t observation) {
    const LabelHistories::Reach reach = histories.reach(observation);
    if (reach == LabelHistories::Reach::before) return;
    const auto [first, last] = histories.combinations(observation, histories.history(reach, before_that, before));
    for (std::size_t j = first; j < last; ++j) row[histories.label(j)] += chain.weights[j];
  });
}

// Offers the labels after a group, which score `steps` and `score` together.
void LabelBeam::offer_all(const HistoryChain& chain, const double* steps, double score, std::uint32_t group,
                          std::size_t before) {
  if (threshold_ == never && beam_ <= row_alignment && length() > 0) {
    threshold_ = score + kernels().reached_by_several(steps, chain.stride);
  }
  const std::size_t count = kernels().places_not_below(steps, score, threshold_, chain.labels, places_.data());
  const std::uint64_t rest = std::uint64_t{before} << 32 | group;
  for (std::size_t k = 0; k < count; ++k) offer(score + steps[places_[k]], std::uint64_t{places_[k]} << 48 | rest);
}

void LabelBeam::offer(double score, std::uint64_t place) {
  if (score < threshold_ || score == never) return;
  if (beam_ > few) {
    next_.push_back({score, place});
    if (next_.size() == 4 * beam_) cut_next();
    return;
  }
  std::size_t free = next_.size();
  if (free < beam_) {
    next_.push_back({score, place});
  } else if (!comes_before({score, place}, next_[--free])) {
    return;
  }
  Next* const next = next_.data();
  for (; free > 0 && comes_before({score, place}, next[free - 1]); --free) next[free] = next[free - 1];
  next[free].score = score;
  next[free].place = place;
  if (next_.size() == beam_) threshold_ = std::max(threshold_, next_.back().score);
}

// Leaves as many states as the beam holds.
void LabelBeam::cut_next() {
  std::nth_element(next_.begin(), next_.begin() + static_cast<std::ptrdiff_t>(beam_ - 1), next_.end(), comes_before);
  next_.resize(beam_);
  threshold_ = next_.back().score;
}

void LabelBeam::keep_best() {
  if (beam_ <= few) return;
  const std::size_t kept = std::min(beam_, next_.size());
  std::partial_sort(next_.begin(), next_.begin() + static_cast<std::ptrdiff_t>(kept), next_.end(), comes_before);
  next_.resize(kept);
}

// Makes states of what is kept. Of several that a state may extend, the one with the lowest label before is meant.
void LabelBeam::end_step(const HistoryChain& chain) {
  for (const Next& next : next_) {
    const std::size_t last = groups_[next.group()].last;
    std::size_t k = groups_[next.group()].first;
    while (k + 1 < last && scores_[k] + rows_[k * chain.stride + next.label()] != next.score) ++k;
    states_.push_back({next.score, next.label(), next.before(), grouped_[k]});
  }
  first_.push_back(states_.size());
}

}  // namespace marginloom
