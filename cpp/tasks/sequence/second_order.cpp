#include "tasks/sequence/second_order.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/common.hpp"
#include "core/interruption.hpp"
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
  before_.start(chain);
  pairs_.resize((chain.length - 1) * chain.labels * chain.stride);
  top_.resize(chain.labels);
  best_.resize(chain.stride);
  row_.resize(chain.stride);
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

void PairViterbi::first_pairs(const HistoryChain& chain) {
  before_.enter(1);
  double* next = pairs(chain, 1);
  for (std::size_t p = 0; p < chain.labels; ++p) {
    const double* transitions = before_.transitions(p);
    for (std::size_t c = 0; c < chain.labels; ++c) {
      next[c * chain.stride + p] = chain.token(1)[c] + (transitions[c] + chain.tokens[p]);
    }
  }
  before_.leave();
}

// Notes the best prefix of each label and returns what some label after any of them scores at least.
double PairViterbi::leaders(const HistoryChain& chain, std::size_t t) {
  double least = never;
  for (std::size_t p = 0; p < chain.labels; ++p) {
    const double* prefixes = pairs(chain, t - 1) + p * chain.stride;
    top_[p] = *std::max_element(prefixes, prefixes + chain.labels);
    least = std::max(least, top_[p] + before_.lowest(p) + before_.bounds(t).lowest);
  }
  return least;
}

void PairViterbi::step(const HistoryChain& chain, std::size_t t) {
  before_.enter(t);
  const double least = leaders(chain, t);
  double* next = pairs(chain, t);
  for (std::size_t p = 0; p < chain.labels; ++p) {
    const double most = top_[p] + before_.highest(p) + before_.bounds(t).highest + before_.bounds(t + 1).width();
    if (top_[p] == never || most + rounding(most) < least) {
      for (std::size_t c = 0; c < chain.labels; ++c) next[c * chain.stride + p] = never;
      continue;
    }
    extend(chain, t, p, top_[p] - before_.bounds(t).width() - rounding(top_[p]));
    const double* transitions = before_.transitions(p);
    for (std::size_t c = 0; c < chain.labels; ++c) {
      next[c * chain.stride + p] = chain.token(t)[c] + (transitions[c] + best_[c]);
    }
  }
  before_.leave();
}

// The best prefixes that end in the label `before` of token t - 1, by the label that follows: into best_.
void PairViterbi::extend(const HistoryChain& chain, std::size_t t, std::size_t before, double threshold) {
  const double* prefixes = pairs(chain, t - 1) + before * chain.stride;
  std::ranges::fill(best_, never);
  double plain = never;  // of prefixes to which nothing is added
  std::size_t tried = 1;
  for (std::size_t q = 0; q < chain.labels; ++q) {
    if (!(prefixes[q] >= threshold)) continue;
    ++tried;
    if (!before_.adds(q, before)) {
      plain = std::max(plain, prefixes[q]);
      continue;
    }
    std::ranges::fill(row_, prefixes[q]);
    before_.for_added(q, before, [&](std::size_t label, std::size_t k) { row_[label] += before_.added()[k]; });
    for (std::size_t c = 0; c < chain.stride; ++c) best_[c] = std::max(best_[c], row_[c]);
  }
  for (std::size_t c = 0; c < chain.stride; ++c) best_[c] = std::max(best_[c], plain);
  count_steps(tried * chain.stride / 4);
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
      score += observation == histories.of_every_token() ? before_.triple(j) : chain.weights[j];
    });
    if (!(score > highest)) continue;
    highest = score;
    best = q;
  }
  return static_cast<std::uint16_t>(best);
}

}  // namespace marginloom
