// Inference over graphs of labels with cycles: the linear relaxation's dual by block-coordinate descent (MPLP++:
// Tourani, Shekhovtsov, Rother and Savchynskyy 2018), with sets decoded by local search.
//
// Messages m move score between labels and pairs without changing any set's total:
//   theta_u(s) = g_u s + sum over pairs e of u of m_eu(s),      theta_e(s, t) = v_e s t - m_eu(s) - m_ev(t)
// so sum_u max theta_u + sum_e max theta_e bounds every set from above, whatever the messages. A step on a pair takes
// its labels' scores in, T(s, t) = theta_e(s, t) + theta_u(s) + theta_v(t), and gives back as much as it can:
//   theta_u(s) <- 1/2 max_t T(s, t),          then T(s, t) -= theta_u(s)
//   theta_v(t) <- max_s T(s, t),              then T(s, t) -= theta_v(t)
//   theta_u(s) <- theta_u(s) + max_t T(s, t), then T(s, t) -= what was added
// after which max T = 0. The bound never rises, and after a sweep over all pairs it is sum_u max theta_u alone.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/interruption.hpp"
#include "tasks/multilabel/label_pairs.hpp"
#include "tasks/multilabel/label_sets.hpp"

namespace marginloom {

// One sweep; returns the bound.
double LabelPairs::relax(const double* weights, PairBuffers& buffers) const {
  double* on = buffers.on.data();
  double* off = buffers.off.data();
  count_steps(16 * pairs_.size());
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    const auto [u, v] = pairs_[p];
    double* message = buffers.messages.data() + 4 * p;  // to u: absent, present; to v: the same
    const double u0 = off[u] - message[0];
    const double u1 = on[u] - message[1];
    const double v0 = off[v] - message[2];
    const double v1 = on[v] - message[3];
    const double both = u1 + v1 + weights[p];
    const double first0 = std::max(u0 + v0, u0 + v1) / 2;
    const double first1 = std::max(u1 + v0, both) / 2;
    off[v] = std::max(u0 + v0 - first0, u1 + v0 - first1);
    on[v] = std::max(u0 + v1 - first0, both - first1);
    off[u] = std::max(u0 + v0 - off[v], u0 + v1 - on[v]);  // the first share is in it again
    on[u] = std::max(u1 + v0 - off[v], both - on[v]);
    message[0] = off[u] - u0;
    message[1] = on[u] - u1;
    message[2] = off[v] - v0;
    message[3] = on[v] - v1;
  }
  double bound = 0;
  for (std::size_t l = 0; l < labels_; ++l) bound += std::max(on[l], off[l]);
  return bound;
}

// Adds or removes the label that brings most, until none brings anything; returns the score that buffers.set ends with.
double LabelPairs::search_locally(std::span<const double> gains, const double* weights, PairBuffers& buffers) const {
  auto& adding = buffers.flip_gains;
  adding.assign(gains.begin(), gains.end());
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    const auto [a, b] = pairs_[p];
    if (has_label(buffers.set, a)) adding[b] += weights[p];
    if (has_label(buffers.set, b)) adding[a] += weights[p];
  }
  for (std::size_t step = 0; step < 2 * labels_; ++step) {  // rounding must not make it go in circles
    count_steps(labels_);
    std::size_t best = labels_;
    double gain = 0;
    for (std::size_t l = 0; l < labels_; ++l) {
      const double change = has_label(buffers.set, l) ? -adding[l] : adding[l];
      if (change > gain) {
        gain = change;
        best = l;
      }
    }
    if (best == labels_) break;
    const bool present = !has_label(buffers.set, best);
    put_label(buffers.set, best, present);
    for (const Neighbour& neighbour : neighbours(best)) {
      adding[neighbour.label] += present ? weights[neighbour.pair] : -weights[neighbour.pair];
    }
  }
  double sum = score(buffers.set, weights);
  for (std::size_t l = 0; l < labels_; ++l) {
    if (has_label(buffers.set, l)) sum += gains[l];
  }
  return sum;
}

PairOptimum LabelPairs::solve_relaxed(std::span<const double> gains, const double* weights, PairBuffers& buffers,
                                      std::span<std::uint8_t> set) const {
  constexpr double close = 1e-9;           // of the size of the numbers: the set is the best one, but for rounding
  constexpr double least_progress = 1e-2;  // of what separates set and bound, per sweep
  buffers.on.assign(gains.begin(), gains.end());
  buffers.off.assign(labels_, 0.0);
  buffers.messages.assign(4 * pairs_.size(), 0.0);
  buffers.set.resize(set.size());
  PairOptimum result{-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  for (int sweep = 0; sweep < sweeps_; ++sweep) {
    const double bound = relax(weights, buffers);
    std::ranges::fill(buffers.set, std::uint8_t{0});
    for (std::size_t l = 0; l < labels_; ++l) put_label(buffers.set, l, buffers.on[l] > buffers.off[l]);
    const double score = search_locally(gains, weights, buffers);
    if (score > result.score) {
      result.score = score;
      std::ranges::copy(buffers.set, set.begin());
    }
    const double progress = result.bound - bound;
    result.bound = std::max(std::min(result.bound, bound), result.score);
    const double apart = result.bound - result.score;
    if (apart <= close * (1 + std::abs(result.score)) || progress < least_progress * apart) break;
  }
  return result;
}

}  // namespace marginloom
