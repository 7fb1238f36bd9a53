#include "tasks/sequence/pair_marginals.hpp"

#include <algorithm>
#include <cmath>

#include "core/interruption.hpp"
#include "core/kernels.hpp"
#include "core/log_sum.hpp"
#include "tasks/sequence/chain_numbers.hpp"

namespace marginloom {

bool PairMarginals::compute(double scale) {
  scale_ = scale;
  return sum_paths<PlainNumbers>() || sum_paths<LogNumbers>();
}

template <class Numbers>
bool PairMarginals::sum_paths() {
  const std::size_t last = chain_.length - 1;
  logarithms_ = Numbers::logarithms;
  loses_ = false;
  find_potentials<Numbers>({chain_.tokens, chain_.length * chain_.stride}, chain_.labels, chain_.stride, scale_,
                           potentials_);
  labels_.assign(chain_.length * chain_.stride, Numbers::zero);
  norms_.assign(chain_.length, Numbers::zero);
  if (last == 0) {
    labels_ = potentials_;
    for (std::size_t c = 0; c < chain_.labels; ++c) norms_[0] = Numbers::plus(norms_[0], labels_[c]);
    return !Numbers::loses_in_path(norms_[0]);
  }
  find_steps<Numbers>();
  sums_.resize(chain_.stride);
  row_.resize(chain_.stride);
  alpha_.assign(last * chain_.labels * chain_.stride, Numbers::zero);
  beta_.assign(alpha_.size(), Numbers::one);
  shrunk_.assign(chain_.length, Numbers::one);
  first_pairs<Numbers>();
  for (std::size_t t = 2; t <= last; ++t) step_forward<Numbers>(t);
  for (std::size_t t = last; t >= 1; --t) {
    if (loses_ || !share_out<Numbers>(t)) return false;
    if (t >= 2) step_backward<Numbers>(t);
  }
  return true;
}

// Transitions score relative to the best one of all, as long as no observation changes them.
template <class Numbers>
void PairMarginals::find_steps() {
  before_.start(chain_);
  const std::span<const double> transitions{before_.transitions(0), chain_.labels * chain_.stride};
  const Known known{chain_.histories, scale_, Numbers::logarithms};
  const bool same = known == known_ && std::ranges::equal(known_transitions_, transitions) &&
                    std::ranges::equal(known_triples_, before_.added());
  if (!same) {
    known_ = known;
    known_transitions_.assign(transitions.begin(), transitions.end());
    known_triples_.assign(before_.added().begin(), before_.added().end());
    const double greatest = *std::ranges::max_element(transitions);
    greatest_step_ = greatest == log_of_zero ? 0 : greatest;
    steps_.assign(transitions.size(), Numbers::zero);
    for (std::size_t p = 0; p < chain_.labels; ++p) {
      for (std::size_t c = 0; c < chain_.labels; ++c) {
        steps_[p * chain_.stride + c] = Numbers::of_log(scale_ * (before_.transitions(p)[c] - greatest_step_));
      }
    }
    factors_.clear();
    for (const double weight : before_.added()) factors_.push_back(Numbers::of_log(scale_ * weight));
    find_rows<Numbers>();
  }
  steps_here_ = steps_;
}

// Plain factors of the combinations of every token, unless there are too many.
template <class Numbers>
void PairMarginals::find_rows() {
  constexpr std::size_t most = 1 << 22;
  has_rows_ = false;
  rows_.clear();
  row_before_that_.clear();
  first_row_.assign(1, 0);
  if (Numbers::logarithms) return;
  for (std::size_t p = 0; p < chain_.labels; ++p) {
    for (std::size_t q = 0; q < chain_.labels; ++q) {
      if (!before_.adds(q, p)) continue;
      if (rows_.size() + chain_.stride > most) return;
      rows_.resize(rows_.size() + chain_.stride, 0.0);
      double* const row = rows_.data() + rows_.size() - chain_.stride;
      std::fill_n(row, chain_.labels, 1.0);
      before_.for_added(q, p, [&](std::size_t label, std::size_t k) { row[label] *= factors_[k]; });
      row_before_that_.push_back(static_cast<std::uint32_t>(q));
    }
    first_row_.push_back(row_before_that_.size());
    count_steps(chain_.labels * chain_.stride / 4);
  }
  rows_.resize(rows_.size() + product_rows * chain_.stride, 0.0);  // which the last products may read
  has_rows_ = true;
}

// Makes steps_here_ and factors_ those of token t.
template <class Numbers>
void PairMarginals::enter(std::size_t t) {
  before_.enter(t);
  for (const HistoryScores::Changed& changed : before_.changed()) {
    const double log = scale_ * (before_.transitions(0)[changed.place] - greatest_step_);
    if (Numbers::loses_by_factor(log)) loses_ = true;
    steps_here_[changed.place] = Numbers::of_log(log);
  }
  if (Numbers::loses_by_factor(scale_ * before_.bounds(t).highest)) loses_ = true;
  factors_.resize(before_.triples());
  for (const double weight : before_.added().subspan(before_.triples())) {
    factors_.push_back(Numbers::of_log(scale_ * weight));
  }
}

void PairMarginals::leave() {
  for (const HistoryScores::Changed& changed : before_.changed()) steps_here_[changed.place] = steps_[changed.place];
  before_.leave();
}

template <class Numbers>
void PairMarginals::first_pairs() {
  enter<Numbers>(1);
  double* const next = pairs(alpha_, 1);
  for (std::size_t c = 0; c < chain_.labels; ++c) {
    for (std::size_t p = 0; p < chain_.labels; ++p) {
      const double step = Numbers::times(potentials_[p], steps_here_[p * chain_.stride + c]);
      next[c * chain_.stride + p] = Numbers::times(step, potentials_[chain_.stride + c]);
    }
  }
  leave();
  shrink<Numbers>(next);
}

// Divides a table by its greatest number, which is returned.
template <class Numbers>
double PairMarginals::shrink(double* table) {
  double greatest = Numbers::zero;
  for (std::size_t c = 0; c < chain_.labels; ++c) {
    const double* const row = table + c * chain_.stride;
    greatest = std::max(greatest, *std::max_element(row, row + chain_.labels));
  }
  if (Numbers::loses_in_row(greatest)) loses_ = true;
  if (greatest == Numbers::zero) return greatest;
  for (std::size_t c = 0; c < chain_.labels; ++c) {
    for (std::size_t p = 0; p < chain_.labels; ++p) {
      double& number = table[c * chain_.stride + p];
      number = Numbers::over(number, greatest);
    }
  }
  return greatest;
}

template <class Numbers>
void PairMarginals::step_forward(std::size_t t) {
  enter<Numbers>(t);
  double* const next = pairs(alpha_, t);
  for (std::size_t p = 0; p < chain_.labels; ++p) {
    sum_before<Numbers>(p, pairs(alpha_, t - 1) + p * chain_.stride);
    for (std::size_t c = 0; c < chain_.labels; ++c) {
      const double step = Numbers::times(steps_here_[p * chain_.stride + c], potentials_[t * chain_.stride + c]);
      next[c * chain_.stride + p] = Numbers::times(sums_[c], step);
    }
    count_steps((Numbers::logarithms ? 32 : 1) * chain_.labels * chain_.stride / 4);
  }
  leave();
  shrink<Numbers>(next);
}

// Into sums_, by the label that follows: the sum over q of what the prefixes that end in q and p, by q, and the labels
// before it say of it.
template <class Numbers>
void PairMarginals::sum_before(std::size_t p, const double* prefixes) {
  double plain = Numbers::zero;  // of prefixes to which nothing is added
  std::ranges::fill(sums_, Numbers::zero);
  if (uses_rows()) {
    const auto rows = rows_after(p);
    few_.clear();
    for (std::size_t q = 0, k = 0; q < chain_.labels; ++q) {
      const bool has_row = k < rows.size() && rows[k] == q;
      k += has_row;
      if (has_row)
        few_.push_back(prefixes[q]);
      else
        plain += prefixes[q];
    }
    kernels().add_scaled_rows_64(rows_.data() + first_row_[p] * chain_.stride, nullptr, few_.data(), few_.size(),
                                 chain_.stride, sums_.data());
  } else {
    for (std::size_t q = 0; q < chain_.labels; ++q) {
      if (prefixes[q] == Numbers::zero) continue;
      if (!before_.adds(q, p)) {
        plain = Numbers::plus(plain, prefixes[q]);
        continue;
      }
      std::ranges::fill(row_, prefixes[q]);
      multiply_row<Numbers>(q, p);
      for (std::size_t c = 0; c < chain_.labels; ++c) sums_[c] = Numbers::plus(sums_[c], row_[c]);
    }
  }
  for (std::size_t c = 0; c < chain_.labels; ++c) sums_[c] = Numbers::plus(sums_[c], plain);
}

// Makes the sums of token t - 1 from those of token t.
template <class Numbers>
void PairMarginals::step_backward(std::size_t t) {
  enter<Numbers>(t);
  const double* const later = pairs(beta_, t);
  double* const own = pairs(beta_, t - 1);
  for (std::size_t p = 0; p < chain_.labels; ++p) {
    std::ranges::fill(sums_, Numbers::zero);
    for (std::size_t c = 0; c < chain_.labels; ++c) {
      const double step = Numbers::times(steps_here_[p * chain_.stride + c], potentials_[t * chain_.stride + c]);
      sums_[c] = Numbers::times(step, later[c * chain_.stride + p]);
    }
    sum_after<Numbers>(p, own + p * chain_.stride);
    count_steps((Numbers::logarithms ? 32 : 1) * chain_.labels * chain_.stride / 4);
  }
  leave();
  shrunk_[t - 1] = shrink<Numbers>(own);
}

// The sum over the labels c that follow q and p, for every q, of sums_[c] and what q and p add to c.
template <class Numbers>
void PairMarginals::sum_after(std::size_t p, double* result) {
  double plain = Numbers::zero;
  for (std::size_t c = 0; c < chain_.labels; ++c) plain = Numbers::plus(plain, sums_[c]);
  std::fill_n(result, chain_.labels, plain);
  if (uses_rows()) {
    const auto rows = rows_after(p);
    few_.resize(rows.size() + product_rows);
    for (std::size_t k = 0; k < rows.size(); k += product_rows) {
      kernels().row_products(rows_.data() + (first_row_[p] + k) * chain_.stride, chain_.stride, sums_.data(),
                             chain_.stride, few_.data() + k);
    }
    for (std::size_t k = 0; k < rows.size(); ++k) result[rows[k]] = few_[k];
    return;
  }
  for (std::size_t q = 0; q < chain_.labels; ++q) {
    if (!before_.adds(q, p)) continue;
    std::ranges::copy(sums_, row_.begin());
    multiply_row<Numbers>(q, p);
    result[q] = Numbers::zero;
    for (std::size_t c = 0; c < chain_.labels; ++c) result[q] = Numbers::plus(result[q], row_[c]);
  }
}

template <class Numbers>
void PairMarginals::multiply_row(std::size_t before_that, std::size_t before) {
  before_.for_added(before_that, before,
                    [&](std::size_t label, std::size_t k) { row_[label] = Numbers::times(row_[label], factors_[k]); });
}

// Adds up the pairs of token t by its label, and for the second token also by the label before it; false if there is no
// path, or if too much was lost.
template <class Numbers>
bool PairMarginals::share_out(std::size_t t) {
  double* const own = labels_.data() + t * chain_.stride;
  for (std::size_t c = 0; c < chain_.labels; ++c) {
    for (std::size_t p = 0; p < chain_.labels; ++p) {
      const double both = Numbers::times(pair(alpha_, t, p, c), pair(beta_, t, p, c));
      own[c] = Numbers::plus(own[c], both);
      if (t == 1) labels_[p] = Numbers::plus(labels_[p], both);
    }
    norms_[t] = Numbers::plus(norms_[t], own[c]);
  }
  if (t == 1) norms_[0] = norms_[1];
  return !Numbers::loses_in_path(norms_[t]);
}

double PairMarginals::log_of(double number) const {
  return logarithms_ ? number : std::log(number);
}

void PairMarginals::write_token(std::size_t t, double* result) const {
  const double* const own = labels_.data() + t * chain_.stride;
  for (std::size_t c = 0; c < chain_.labels; ++c) result[c] = logarithms_ ? share(own[c], norms_[t]) : own[c];
  normalise({result, chain_.labels});
}

double PairMarginals::log_marginal(std::size_t t, std::size_t label) const {
  return std::min(log_of(labels_[t * chain_.stride + label]) - log_of(norms_[t]), 0.0);
}

double PairMarginals::log_pair(std::size_t t, std::size_t before, std::size_t label) const {
  return log_of(pair(alpha_, t, before, label)) + log_of(pair(beta_, t, before, label)) - log_of(norms_[t]);
}

// log p(y_t = label | y_{t-2} = before_that, y_{t-1} = before)
double PairMarginals::log_next(std::size_t t, std::size_t before_that, std::size_t before, std::size_t label) const {
  const double* const scores = chain_.token(t);
  const double greatest = *std::max_element(scores, scores + chain_.labels) + greatest_step_;
  const double step = chain_.step(t, before_that, before, label);
  const double later = log_of(pair(beta_, t, before, label));
  if (step == log_of_zero || later == log_of_zero) return log_of_zero;
  const double own = log_of(pair(beta_, t - 1, before_that, before)) + log_of(shrunk_[t - 1]);
  return scale_ * (step - greatest) + later - own;
}

// The chain is a Markov chain of pairs, with the marginals of a pair at the start.
double PairMarginals::log_probability(std::size_t first, std::span<const Labels> labels) const {
  if (labels.empty()) return 0;
  const auto sum = [](const std::vector<double>& logs) {
    return std::min(log_sum_of(logs.size(), [&](std::size_t k) { return logs[k]; }), 0.0);
  };
  std::vector<double> reached, next;  // a row per label of a token, by the label before
  if (labels.size() == 1) {
    for (const std::uint16_t label : labels[0]) reached.push_back(log_marginal(first, label));
    return sum(reached);
  }
  for (const std::uint16_t label : labels[1]) {
    for (const std::uint16_t before : labels[0]) reached.push_back(log_pair(first + 1, before, label));
  }
  for (std::size_t k = 2; k < labels.size(); ++k) {
    const std::size_t width = labels[k - 2].size();
    next.clear();
    for (const std::uint16_t label : labels[k]) {
      for (std::size_t p = 0; p < labels[k - 1].size(); ++p) {
        next.push_back(log_sum_of(width, [&](std::size_t q) {
          const double so_far = reached[p * width + q];
          if (so_far == log_of_zero) return so_far;
          return so_far + log_next(first + k, labels[k - 2][q], labels[k - 1][p], label);
        }));
      }
    }
    reached.swap(next);
  }
  return sum(reached);
}

}  // namespace marginloom
