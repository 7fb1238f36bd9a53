#include "tasks/sequence/viterbi.hpp"

#include <limits>
#include <utility>

#include "core/common.hpp"
#include "core/interruption.hpp"
#include "core/kernels.hpp"

namespace marginloom {
namespace {

// The first label p with the greatest previous[p] + into[p * stride], which is `greatest`.
std::size_t best_before(const double* previous, const double* into, const ChainScores& chain, double greatest) {
  for (std::size_t p = 0; p < chain.labels; ++p) {
    if (previous[p] + into[p * chain.stride] == greatest) return p;
  }
  // Another thread has changed the transitions meanwhile, or the scores are not numbers.
  std::size_t best = 0;
  for (std::size_t p = 1; p < chain.labels; ++p) {
    if (previous[p] + into[p * chain.stride] > previous[best] + into[best * chain.stride]) best = p;
  }
  return best;
}

}  // namespace

ChainScores Viterbi::score_prefixes(std::span<double> scores, const double* transitions, std::size_t labels,
                                    std::size_t stride) {
  constexpr std::size_t many = 32;  // with fewer labels, choosing takes longer than trying all
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

void Viterbi::step_from_some(const ChainScores& chain, double* scores) {
  constexpr int chains_without = 64;
  constexpr double never = -std::numeric_limits<double>::infinity();
  const Kernels& kernel = kernels();
  lowest_.assign(chain.stride, never);
  highest_.assign(chain.stride, never);
  from_.resize(chain.stride);
  kernel.row_bounds(chain.transitions, chain.labels, chain.stride, lowest_.data(), highest_.data());
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

double Viterbi::best_path(const ChainScores& chain, std::vector<std::uint16_t>& labels) const {
  labels.resize(chain.length);
  const std::size_t last = (chain.length - 1) * chain.stride;
  std::size_t label = first_maximum(chain.prefixes + last, chain.labels);
  const double score = chain.prefixes[last + label];
  for (std::size_t t = chain.length - 1; t > 0; --t) {
    labels[t] = static_cast<std::uint16_t>(label);
    label = best_before(chain.prefixes + (t - 1) * chain.stride, chain.transitions + label, chain,
                        best_[t * chain.stride + label]);
  }
  labels[0] = static_cast<std::uint16_t>(label);
  return score;
}

}  // namespace marginloom
