// Probabilities of arcs in projective trees, of first and of second order, in O(n^3) time.
//
// The charts of Eisner's algorithm (eisner.hpp, sibling_eisner.hpp) are filled with sums over all ways to build a span
// instead of the best one: the inside sums, as logarithms. The derivative of the logarithm of the whole sum by that of
// a span's is the probability that a tree has the span; these go from the whole sentence down, each span giving its
// probability to those that it is built of, in proportion to what they bring: the outside pass. An arc is as probable
// as its open span.
#pragma once

#include <cstddef>
#include <vector>

#include "core/log_sum.hpp"
#include "tasks/parse/eisner.hpp"
#include "tasks/parse/sibling_eisner.hpp"

namespace marginloom {

// What spans keep: the logarithm of the sum over the ways to build them.
struct AllWays {
  static constexpr std::size_t cost = 24;
  static Split of_splits(const double* first, const double* second, std::size_t begin, std::size_t end) {
    return {log_sum_of(end - begin, [&](std::size_t k) { return first[begin + k] + second[begin + k]; }), 0};
  }
  template <class Value>
  static Split of_places(std::size_t begin, std::size_t end, Split first, Value value) {
    const std::size_t count = 1 + (end > begin ? end - begin : 0);
    return {log_sum_of(count, [&](std::size_t k) { return k == 0 ? first.score : value(begin + k - 1); }), 0};
  }
};

class ProjectiveMarginals {
 public:
  // Fills in the probability of every arc where a tree's is proportional to the exponential of the sum of its arcs'
  // scores; returns the logarithm of the sum over all trees, minus infinity if there is none.
  double first_order(const ArcScores& scores, bool one_root, ArcScores& marginals);

  // The same where arcs score with their nearest sibling; `siblings` as for SiblingSpans.
  template <class Siblings>
  double second_order(const ArcScores& scores, bool one_root, Siblings siblings, ArcScores& marginals);

 private:
  // Gives each of `count` terms its share of an amount: add(k, share).
  template <class Value, class Add>
  void divide(double amount, std::size_t count, Value value, Add add);
  template <class Root>
  double start(const FullSpans& full, bool one_root, std::size_t length, Root root, ArcScores& marginals);
  void divide_full(const FullSpans& full, const double* open, std::size_t head, std::size_t end);
  void divide_splits(const FullSpans& full, double amount, std::size_t i, std::size_t j);
  template <class Spans, class Siblings>
  void divide_open(const Spans& spans, std::size_t head, std::size_t modifier, Siblings siblings);
  [[nodiscard]] double& full_at(std::size_t head, std::size_t end) { return full_[head * side_ + end]; }
  [[nodiscard]] double& open_at(std::size_t head, std::size_t modifier) { return open_[head * side_ + modifier]; }
  [[nodiscard]] double& beside_at(std::size_t i, std::size_t j) {
    return beside_[std::min(i, j) * side_ + std::max(i, j)];
  }

  std::size_t side_ = 0;
  ProjectiveSpans<AllWays> spans_;
  SiblingSpans<AllWays> sibling_spans_;
  std::vector<double> full_, open_, beside_;  // probabilities of spans
  std::vector<double> terms_;
};

template <class Value, class Add>
void ProjectiveMarginals::divide(double amount, std::size_t count, Value value, Add add) {
  if (amount == 0) return;
  terms_.resize(count);
  double greatest = log_of_zero;
  for (std::size_t k = 0; k < count; ++k) greatest = std::max(greatest, terms_[k] = value(k));
  if (greatest == log_of_zero) return;
  double sum = 0;
  for (double& term : terms_) sum += term = std::exp(term - greatest);
  for (std::size_t k = 0; k < count; ++k) add(k, amount * (terms_[k] / sum));
}

// Begins at the whole sentence; root(r) is what an arc from the root to the only word that has one brings.
template <class Root>
double ProjectiveMarginals::start(const FullSpans& full, bool one_root, std::size_t length, Root root,
                                  ArcScores& marginals) {
  side_ = length + 1;
  full_.assign(side_ * side_, 0.0);
  open_.assign(side_ * side_, 0.0);
  beside_.assign(side_ * side_, 0.0);
  marginals.resize(length);
  if (!one_root) {
    full_at(0, length) = 1;
    return full.score(0, length);
  }
  const auto term = [&](std::size_t k) { return full.score(k + 1, 1) + full.score(k + 1, length) + root(k + 1); };
  divide(1, length, term, [&](std::size_t k, double probability) {
    marginals.at(0, k + 1) = probability;
    full_at(k + 1, 1) += probability;
    full_at(k + 1, length) += probability;
  });
  return log_sum_of(length, term);
}

template <class Spans, class Siblings>
void ProjectiveMarginals::divide_open(const Spans& spans, std::size_t head, std::size_t modifier, Siblings siblings) {
  if (open_at(head, modifier) == 0) return;
  const double* const with = siblings(head, modifier);
  const std::size_t next = head < modifier ? head + 1 : head - 1;
  const std::size_t first = std::min(head, modifier);
  const std::size_t count = std::max(head, modifier) - first;
  const double* const open = spans.open_of(head);
  const auto term = [&](std::size_t k) {
    if (k == 0) return spans.full().score(modifier, next) + with[0];
    return open[first + k] + spans.beside(first + k, modifier) + with[first + k];
  };
  divide(open_at(head, modifier), count, term, [&](std::size_t k, double probability) {
    if (k == 0) {
      full_at(modifier, next) += probability;
    } else {
      open_at(head, first + k) += probability;
      beside_at(first + k, modifier) += probability;
    }
  });
}

template <class Siblings>
double ProjectiveMarginals::second_order(const ArcScores& scores, bool one_root, Siblings siblings,
                                         ArcScores& marginals) {
  const std::size_t length = scores.length();
  marginals.resize(length);
  if (length == 0) return 0;
  const std::size_t first = one_root ? 1 : 0;
  sibling_spans_.fill(scores, first, siblings);
  const auto& spans = sibling_spans_;
  const double sum = start(
      spans.full(), one_root, length, [&](std::size_t r) { return scores.at(0, r) + siblings(0, r)[0]; }, marginals);
  for (std::size_t width = length + 1 - first; width-- > 1;) {
    for (std::size_t i = first; i + width <= length; ++i) {
      const std::size_t j = i + width;
      count_steps(2 * AllWays::cost * width);
      divide_full(spans.full(), spans.open_of(i), i, j);
      divide_open(spans, i, j, siblings);
      marginals.at(i, j) += open_at(i, j);
      if (i > 0) {
        divide_full(spans.full(), spans.open_of(j), j, i);
        divide_open(spans, j, i, siblings);
        marginals.at(j, i) += open_at(j, i);
      }
      divide_splits(spans.full(), beside_at(i, j), i, j);
    }
  }
  return sum;
}

}  // namespace marginloom
