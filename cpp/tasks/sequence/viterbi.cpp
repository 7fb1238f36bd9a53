#include "tasks/sequence/viterbi.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/common.hpp"
#include "core/interruption.hpp"
#include "core/kernels.hpp"

namespace marginloom {
namespace {

constexpr std::size_t many = 32;  // with fewer labels, choosing takes longer than trying all
constexpr int chains_without = 64;

// The first label p with the greatest previous[p] + into[p * stride], which is `greatest`.
std::size_t best_before(const double* previous, const double* into, std::size_t labels, std::size_t stride,
                        double greatest) {
  for (std::size_t p = 0; p < labels; ++p) {
    if (previous[p] + into[p * stride] == greatest) return p;
  }
  // Another thread has changed the transitions meanwhile, or the scores are not numbers.
  std::size_t best = 0;
  for (std::size_t p = 1; p < labels; ++p) {
    if (previous[p] + into[p * stride] > previous[best] + into[best * stride]) best = p;
  }
  return best;
}

}  // namespace

ChainScores Viterbi::score_prefixes(std::span<double> scores, const double* transitions, std::size_t labels,
                                    std::size_t stride) {
  const ChainScores chain{scores.data(), transitions, scores.size() / stride, labels, stride};
  best_.resize(scores.size());
  if (labels < many || spared_ > 0) {
    step_from_all(chain, scores.data());
  } else {
    step_from_some(chain, scores.data());
  }
  return chain;
}

void Viterbi::step_from_all(const ChainScores& chain, double* scores) {
  spared_ -= spared_ > 0 ? 1 : 0;
  std::size_t steps = 0;  // of few labels too few to be counted for every token
  for (std::size_t t = 1; t < chain.length; ++t) {
    if ((steps += chain.labels * chain.stride / 8) >= 1 << 14) count_steps(std::exchange(steps, 0));
    double* row = scores + t * chain.stride;
    kernels().max_plus(row - chain.stride, chain.transitions, nullptr, chain.labels, chain.stride,
                       best_.data() + t * chain.stride, row);
  }
}

void Viterbi::bound_transitions(const ChainScores& chain) {
  lowest_.assign(chain.stride, never);
  highest_.assign(chain.stride, never);
  from_.resize(chain.stride);
  kernels().row_bounds(chain.transitions, chain.labels, chain.stride, lowest_.data(), highest_.data());
}

void Viterbi::step_from_some(const ChainScores& chain, double* scores) {
  const Kernels& kernel = kernels();
  bound_transitions(chain);
  std::size_t tried = 0;
  for (std::size_t t = 1; t < chain.length; ++t) {
    double* row = scores + t * chain.stride;
    const std::size_t count =
        kernel.labels_within_reach(row - chain.stride, lowest_.data(), highest_.data(), chain.labels, from_.data());
    count_steps((count + 2) * chain.stride / 8);
    kernel.max_plus(row - chain.stride, chain.transitions, from_.data(), count, chain.stride,
                    best_.data() + t * chain.stride, row);
    tried += count;
  }
  if (3 * tried > chain.labels * chain.length) spared_ = chains_without;
}

ChainScores Viterbi::score_prefixes(std::span<double> scores, double* transitions, std::size_t labels,
                                    std::size_t stride, LocalTransitions& local) {
  const ChainScores chain{scores.data(), transitions, scores.size() / stride, labels, stride, &local};
  best_.resize(scores.size());
  step_locally(chain, scores.data(), transitions, local);
  return chain;
}

// Bounds that allow for both a transition as it is and as it is changed are bounds still.
void Viterbi::step_locally(const ChainScores& chain, double* scores, double* transitions, LocalTransitions& local) {
  const Kernels& kernel = kernels();
  const bool choose = chain.labels >= many && spared_ == 0;
  if (choose) {
    bound_transitions(chain);
    whole_lowest_ = lowest_;
    whole_highest_ = highest_;
  } else if (spared_ > 0) {
    --spared_;
  }
  std::size_t tried = 0;
  std::size_t steps = 0;
  for (std::size_t t = 1; t < chain.length; ++t) {
    const std::span<LocalTransitions::Change> changes = local.of(t);
    before_.clear();
    for (LocalTransitions::Change& change : changes) {
      double& transition = transitions[change.from * chain.stride + change.to];
      before_.push_back(transition);
      change.score = transition += change.score;
      if (!choose) continue;
      lowest_[change.from] = std::min(lowest_[change.from], transition);
      highest_[change.from] = std::max(highest_[change.from], transition);
    }
    double* row = scores + t * chain.stride;
    double* best = best_.data() + t * chain.stride;
    if (choose) {
      const std::size_t count =
          kernel.labels_within_reach(row - chain.stride, lowest_.data(), highest_.data(), chain.labels, from_.data());
      count_steps((count + 2) * chain.stride / 8);
      kernel.max_plus(row - chain.stride, transitions, from_.data(), count, chain.stride, best, row);
      tried += count;
    } else {
      if ((steps += chain.labels * chain.stride / 8) >= 1 << 14) count_steps(std::exchange(steps, 0));
      kernel.max_plus(row - chain.stride, transitions, nullptr, chain.labels, chain.stride, best, row);
    }
    for (std::size_t k = changes.size(); k-- > 0;) {
      const std::size_t from = changes[k].from;
      transitions[from * chain.stride + changes[k].to] = before_[k];
      if (!choose) continue;
      lowest_[from] = whole_lowest_[from];
      highest_[from] = whole_highest_[from];
    }
  }
  if (choose && 3 * tried > chain.labels * chain.length) spared_ = chains_without;
}

double Viterbi::best_path(const ChainScores& chain, std::vector<std::uint16_t>& labels) {
  labels.resize(chain.length);
  const std::size_t last = (chain.length - 1) * chain.stride;
  std::size_t label = first_maximum(chain.prefixes + last, chain.labels);
  const double score = chain.prefixes[last + label];
  for (std::size_t t = chain.length - 1; t > 0; --t) {
    labels[t] = static_cast<std::uint16_t>(label);
    const double* previous = chain.prefixes + (t - 1) * chain.stride;
    const double greatest = best_[t * chain.stride + label];
    if (chain.local) {
      chain.transitions_into(t, label, column_);
      label = best_before(previous, column_.data(), chain.labels, 1, greatest);
    } else {
      label = best_before(previous, chain.transitions + label, chain.labels, chain.stride, greatest);
    }
  }
  labels[0] = static_cast<std::uint16_t>(label);
  return score;
}

}  // namespace marginloom
