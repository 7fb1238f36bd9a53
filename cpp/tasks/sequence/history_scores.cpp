#include "tasks/sequence/history_scores.hpp"

#include <algorithm>
#include <tuple>

#include "core/interruption.hpp"
#include "core/kernels.hpp"

namespace marginloom {

void HistoryScores::start(const HistoryChain& chain) {
  chain_ = chain;
  const std::size_t labels = chain.labels;
  transitions_.assign(chain.transitions, chain.transitions + labels * chain.stride);
  lowest_.assign(chain.stride, never);
  highest_.assign(chain.stride, never);
  const std::size_t everywhere = chain.histories->of_every_token();
  added_.clear();
  extras_.clear();
  changed_.clear();
  of_triples_ = {};
  if (everywhere != LabelHistories::none) {
    const auto [first, last] = chain.histories->combinations(everywhere);
    first_triple_ = first;
    added_.assign(chain.weights + first, chain.weights + last);
    for (const double weight : added_) {
      of_triples_.lowest = std::min(of_triples_.lowest, weight);
      of_triples_.highest = std::max(of_triples_.highest, weight);
    }
  }
  triples_ = added_.size();
  count_steps(labels * chain.stride + triples_);
  kernels().row_bounds(transitions_.data(), labels, chain.stride, lowest_.data(), highest_.data());
  bounds_.assign(chain.length + 1, {});
  for (std::size_t t = 2; t < chain.length; ++t) bounds_[t] = bounds_of(t);
}

HistoryScores::Bounds HistoryScores::bounds_of(std::size_t t) const {
  Bounds bounds = of_triples_;
  for (const std::uint32_t observation : chain_.observations.of(t)) {
    if (chain_.histories->reach(observation) == LabelHistories::Reach::before) continue;
    const auto [first, last] = chain_.histories->combinations(observation);
    if (first == last) continue;
    const auto [lowest, highest] = std::minmax_element(chain_.weights + first, chain_.weights + last);
    bounds.lowest += std::min(*lowest, 0.0);
    bounds.highest += std::max(*highest, 0.0);
  }
  return bounds;
}

void HistoryScores::enter(std::size_t t) {
  const LabelHistories& histories = *chain_.histories;
  extras_.clear();
  changed_.clear();
  for (const std::uint32_t observation : chain_.observations.of(t)) {
    const bool one = histories.reach(observation) == LabelHistories::Reach::before;
    if (!one && t < 2) continue;
    const auto [first, last] = histories.combinations(observation);
    for (std::size_t j = first; j < last; ++j) {
      const double weight = chain_.weights[j];
      if (weight == 0) continue;
      if (!one) {
        extras_.push_back({static_cast<std::uint32_t>(histories.before(j)),
                           static_cast<std::uint32_t>(histories.before_that(j)),
                           static_cast<std::uint32_t>(histories.label(j)), weight});
        continue;
      }
      const std::size_t from = histories.only_before(j);
      double& transition = transitions_[from * chain_.stride + histories.label(j)];
      changed_.push_back({from * chain_.stride + histories.label(j), transition});
      transition += weight;
      lowest_[from] = std::min(lowest_[from], transition);
      highest_[from] = std::max(highest_[from], transition);
    }
  }
  std::ranges::sort(extras_, [](const Extra& a, const Extra& b) {
    return std::tie(a.before, a.before_that, a.label, a.weight) < std::tie(b.before, b.before_that, b.label, b.weight);
  });
  added_.resize(triples_);
  for (const Extra& extra : extras_) added_.push_back(extra.weight);
}

// Bounds that allow for transitions of other tokens are bounds still.
void HistoryScores::leave() {
  for (std::size_t k = changed_.size(); k-- > 0;) transitions_[changed_[k].place] = changed_[k].before;
}

std::size_t HistoryScores::first_extra(std::size_t before, std::size_t before_that) const {
  const auto precedes = [&](const Extra& extra, std::size_t second) {
    return extra.before != before ? extra.before < before : extra.before_that < second;
  };
  const auto found = std::lower_bound(extras_.begin(), extras_.end(), before_that, precedes);
  return static_cast<std::size_t>(found - extras_.begin());
}

}  // namespace marginloom
