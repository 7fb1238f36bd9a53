#include "tasks/sequence/second_order.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "core/common.hpp"
#include "core/interruption.hpp"
#include "core/kernels.hpp"
#include "tasks/sequence/viterbi.hpp"

namespace marginloom {
namespace {

// What sums in another order may differ by, generously.
double rounding(double score) {
  return 1e-9 * (1 + std::abs(score));
}

}  // namespace

double PairViterbi::best_path(const HistoryChain& chain, std::vector<std::uint16_t>& labels) {
  labels.resize(chain.length);
  const std::size_t last = chain.length - 1;
  if (last == 0) {
    labels[0] = static_cast<std::uint16_t>(first_maximum(chain.tokens, chain.labels));
    return chain.tokens[labels[0]];
  }
  prepare(chain);
  first_pairs(chain);
  for (std::size_t t = 2; t <= last; ++t) step(chain, t);
  double best = never;
  for (std::size_t c = 0; c < chain.labels; ++c) {
    for (std::size_t p = 0; p < chain.labels; ++p) {
      const double score = pairs(chain, last)[c * chain.stride + p];
      if (!(score > best) && !(c == 0 && p == 0)) continue;
      best = score;
      labels[last] = static_cast<std::uint16_t>(c);
      labels[last - 1] = static_cast<std::uint16_t>(p);
    }
  }
  for (std::size_t t = last; t >= 2; --t) labels[t - 2] = best_before(chain, t, labels[t - 1], labels[t]);
  return best;
}

void PairViterbi::prepare(const HistoryChain& chain) {
  const std::size_t labels = chain.labels;
  pairs_.resize((chain.length - 1) * labels * chain.stride);
  transitions_.assign(chain.transitions, chain.transitions + labels * chain.stride);
  lowest_.assign(chain.stride, never);
  highest_.assign(chain.stride, never);
  top_.resize(labels);
  best_.resize(chain.stride);
  row_.resize(chain.stride);
  const std::size_t everywhere = chain.histories->of_every_token();
  triples_.clear();
  of_triples_ = {};
  if (everywhere != LabelHistories::none) {
    const auto [first, last] = chain.histories->combinations(everywhere);
    first_triple_ = first;
    triples_.assign(chain.weights + first, chain.weights + last);
    for (const double weight : triples_) {
      of_triples_.lowest = std::min(of_triples_.lowest, weight);
      of_triples_.highest = std::max(of_triples_.highest, weight);
    }
  }
  count_steps(labels * chain.stride + triples_.size());
  kernels().row_bounds(transitions_.data(), labels, chain.stride, lowest_.data(), highest_.data());
  ranges_.assign(chain.length + 1, {});
  for (std::size_t t = 2; t < chain.length; ++t) ranges_[t] = range_of(chain, t);
}

PairViterbi::Range PairViterbi::range_of(const HistoryChain& chain, std::size_t t) const {
  Range range = of_triples_;
  for (const std::uint32_t observation : chain.observations.of(t)) {
    if (chain.histories->reach(observation) == LabelHistories::Reach::before) continue;
    const auto [first, last] = chain.histories->combinations(observation);
    if (first == last) continue;
    const auto [lowest, highest] = std::minmax_element(chain.weights + first, chain.weights + last);
    range.lowest += std::min(*lowest, 0.0);
    range.highest += std::max(*highest, 0.0);
  }
  return range;
}

// Changes the transitions into token t and notes what else its observations add.
void PairViterbi::apply_observations(const HistoryChain& chain, std::size_t t) {
  const LabelHistories& histories = *chain.histories;
  extras_.clear();
  changed_.clear();
  for (const std::uint32_t observation : chain.observations.of(t)) {
    const bool one = histories.reach(observation) == LabelHistories::Reach::before;
    if (!one && t < 2) continue;
    const auto [first, last] = histories.combinations(observation);
    for (std::size_t j = first; j < last; ++j) {
      const double weight = chain.weights[j];
      if (weight == 0) continue;
      if (!one) {
        extras_.push_back({static_cast<std::uint32_t>(histories.before(j)),
                           static_cast<std::uint32_t>(histories.before_that(j)),
                           static_cast<std::uint32_t>(histories.label(j)), weight});
        continue;
      }
      const std::size_t from = histories.only_before(j);
      double& transition = transitions_[from * chain.stride + histories.label(j)];
      changed_.push_back({from * chain.stride + histories.label(j), transition});
      transition += weight;
      lowest_[from] = std::min(lowest_[from], transition);
      highest_[from] = std::max(highest_[from], transition);
    }
  }
  std::ranges::sort(extras_, [](const Extra& a, const Extra& b) {
    return std::tie(a.before, a.before_that, a.label, a.weight) < std::tie(b.before, b.before_that, b.label, b.weight);
  });
}

// Bounds that allow for transitions of other tokens are bounds still.
void PairViterbi::restore_transitions() {
  for (std::size_t k = changed_.size(); k-- > 0;) transitions_[changed_[k].place] = changed_[k].before;
}

void PairViterbi::first_pairs(const HistoryChain& chain) {
  apply_observations(chain, 1);
  double* next = pairs(chain, 1);
  for (std::size_t p = 0; p < chain.labels; ++p) {
    const double* transitions = transitions_.data() + p * chain.stride;
    for (std::size_t c = 0; c < chain.labels; ++c) {
      next[c * chain.stride + p] = chain.token(1)[c] + (transitions[c] + chain.tokens[p]);
    }
  }
  restore_transitions();
}

// Notes the best prefix of each label and returns what some label after any of them scores at least.
double PairViterbi::leaders(const HistoryChain& chain, std::size_t t) {
  double least = never;
  for (std::size_t p = 0; p < chain.labels; ++p) {
    const double* prefixes = pairs(chain, t - 1) + p * chain.stride;
    top_[p] = *std::max_element(prefixes, prefixes + chain.labels);
    least = std::max(least, top_[p] + lowest_[p] + ranges_[t].lowest);
  }
  return least;
}

void PairViterbi::step(const HistoryChain& chain, std::size_t t) {
  apply_observations(chain, t);
  const double least = leaders(chain, t);
  double* next = pairs(chain, t);
  for (std::size_t p = 0; p < chain.labels; ++p) {
    const double most = top_[p] + highest_[p] + ranges_[t].highest + ranges_[t + 1].width();
    if (top_[p] == never || most + rounding(most) < least) {
      for (std::size_t c = 0; c < chain.labels; ++c) next[c * chain.stride + p] = never;
      continue;
    }
    extend(chain, t, p, top_[p] - ranges_[t].width() - rounding(top_[p]));
    const double* transitions = transitions_.data() + p * chain.stride;
    for (std::size_t c = 0; c < chain.labels; ++c) {
      next[c * chain.stride + p] = chain.token(t)[c] + (transitions[c] + best_[c]);
    }
  }
  restore_transitions();
}

// The best prefixes that end in the label `before` of token t - 1, by the label that follows: into best_.
void PairViterbi::extend(const HistoryChain& chain, std::size_t t, std::size_t before, double threshold) {
  const LabelHistories& histories = *chain.histories;
  const std::size_t everywhere = histories.of_every_token();
  const double* prefixes = pairs(chain, t - 1) + before * chain.stride;
  std::ranges::fill(best_, never);
  double plain = never;  // of prefixes to which nothing is added
  std::size_t tried = 1;
  for (std::size_t q = 0; q < chain.labels; ++q) {
    if (!(prefixes[q] >= threshold)) continue;
    ++tried;
    LabelHistories::Range triples;
    if (!triples_.empty()) {
      triples = histories.combinations(everywhere, histories.history(LabelHistories::Reach::both, q, before));
    }
    if (triples.first == triples.last && extras_.empty()) {
      plain = std::max(plain, prefixes[q]);
      continue;
    }
    std::ranges::fill(row_, prefixes[q]);
    for (std::size_t j = triples.first; j < triples.last; ++j) {
      row_[histories.label(j)] += triples_[j - first_triple_];
    }
    if (!extras_.empty()) add_rows_of(chain, before, q);
    for (std::size_t c = 0; c < chain.stride; ++c) best_[c] = std::max(best_[c], row_[c]);
  }
  for (std::size_t c = 0; c < chain.stride; ++c) best_[c] = std::max(best_[c], plain);
  count_steps(tried * chain.stride / 4);
}

// Adds to row_ what is observed where `before` and `before_that` are the labels before.
void PairViterbi::add_rows_of(const HistoryChain& chain, std::size_t before, std::size_t before_that) {
  const auto add = [&](std::size_t first_label) {
    const auto precedes = [&](const Extra& extra, std::size_t second) {
      return extra.before != first_label ? extra.before < first_label : extra.before_that < second;
    };
    auto extra = std::lower_bound(extras_.begin(), extras_.end(), before_that, precedes);
    for (; extra != extras_.end() && extra->before == first_label && extra->before_that == before_that; ++extra) {
      row_[extra->label] += extra->weight;
    }
  };
  add(before);
  add(chain.labels);
}

// The first label q for which R[t-1][before][q] with the triple of q, `before` and `label` is greatest.
std::uint16_t PairViterbi::best_before(const HistoryChain& chain, std::size_t t, std::size_t before,
                                       std::size_t label) {
  const LabelHistories& histories = *chain.histories;
  const double* prefixes = pairs(chain, t - 1) + before * chain.stride;
  std::size_t best = 0;
  double highest = never;
  for (std::size_t q = 0; q < chain.labels; ++q) {
    if (prefixes[q] == never) continue;
    double score = prefixes[q];
    chain.for_observations(t, 2, [&](std::size_t observation) {
      const LabelHistories::Reach reach = histories.reach(observation);
      if (reach == LabelHistories::Reach::before) return;
      const std::size_t j = histories.find(observation, histories.history(reach, q, before), label);
      if (j == LabelHistories::none) return;
      score += observation == histories.of_every_token() ? triples_[j - first_triple_] : chain.weights[j];
    });
    if (!(score > highest)) continue;
    highest = score;
    best = q;
  }
  return static_cast<std::uint16_t>(best);
}

}  // namespace marginloom
