#include "tasks/sequence/chain_marginals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/interruption.hpp"
#include "core/log_sum.hpp"
#include "tasks/sequence/chain_numbers.hpp"

namespace marginloom {

void ChainMarginals::start(std::span<const double> scores, const ChainTransitions& transitions) {
  scores_ = scores;
  transitions_ = transitions;
  labels_ = transitions.labels;
  stride_ = transitions.stride;
  length_ = scores.size() / stride_;
}

bool ChainMarginals::compute(double scale) {
  scale_ = scale;
  return sum_paths<PlainNumbers>(scale) || sum_paths<LogNumbers>(scale);
}

// Every transition scores relative to the best one of all: the same constant for all paths.
template <class Numbers>
void ChainMarginals::find_steps(double scale) {
  const double* const scores = transitions_.scores;
  const std::size_t size = labels_ * stride_;
  if (known_scale_ == scale && known_logarithms_ == Numbers::logarithms && known_transitions_.size() == size &&
      std::equal(known_transitions_.begin(), known_transitions_.end(), scores)) {
    return;
  }
  known_transitions_.assign(scores, scores + size);
  known_scale_ = scale;
  known_logarithms_ = Numbers::logarithms;
  steps_.assign(size, Numbers::zero);
  steps_back_.assign(size, Numbers::zero);
  double greatest = log_of_zero;
  for (std::size_t p = 0; p < labels_; ++p) {
    greatest = std::max(greatest, *std::max_element(scores + p * stride_, scores + p * stride_ + labels_));
  }
  if (greatest == log_of_zero) return;
  for (std::size_t p = 0; p < labels_; ++p) {
    for (std::size_t c = 0; c < labels_; ++c) {
      const double step = Numbers::of_log(scale * (scores[p * stride_ + c] - greatest));
      steps_[p * stride_ + c] = step;
      steps_back_[c * stride_ + p] = step;
    }
  }
}

template <class Numbers>
const double* ChainMarginals::steps_into(std::size_t t, bool back) {
  const AlignedVector<double>& steps = back ? steps_back_ : steps_;
  if (!transitions_.local || transitions_.local->of(t).empty()) return steps.data();
  local_steps_ = steps;
  for (const LocalTransitions::Change& change : transitions_.local->of(t)) {
    if (Numbers::loses_by_factor(scale_ * change.score)) loses_ = true;
    const std::size_t place = back ? change.to * stride_ + change.from : change.from * stride_ + change.to;
    local_steps_[place] = Numbers::times(local_steps_[place], Numbers::of_log(scale_ * change.score));
  }
  return local_steps_.data();
}

double ChainMarginals::log_step(std::size_t t, std::size_t from, std::size_t to) const {
  double log = log_of(steps_[from * stride_ + to]);
  if (!transitions_.local || log == log_of_zero) return log;
  for (const LocalTransitions::Change& change : transitions_.local->of(t)) {
    if (change.from == from && change.to == to) log += scale_ * change.score;
  }
  return log;
}

template <class Numbers>
void ChainMarginals::step_forward(std::size_t t) {
  double* const next = row(alpha_, t);
  const double* const own = row(potentials_, t);
  if (t == 0) {
    std::copy_n(own, stride_, next);
  } else {
    std::fill_n(next, stride_, Numbers::zero);
    Numbers::add_product(row(alpha_, t - 1), steps_into<Numbers>(t, false), labels_, stride_, next);
    for (std::size_t c = 0; c < labels_; ++c) next[c] = Numbers::times(next[c], own[c]);
  }
  if (Numbers::loses_in_row(divide_by_greatest<Numbers>({next, labels_}))) loses_ = true;
}

template <class Numbers>
void ChainMarginals::step_backward(std::size_t t) {
  double* const own = row(beta_, t);
  if (t + 1 == length_) {
    std::fill_n(own, labels_, Numbers::one);
    return;
  }
  const double* const potentials = row(potentials_, t + 1);
  const double* const later = row(beta_, t + 1);
  for (std::size_t c = 0; c < labels_; ++c) spare_[c] = Numbers::times(potentials[c], later[c]);
  std::fill_n(own, stride_, Numbers::zero);
  Numbers::add_product(spare_.data(), steps_into<Numbers>(t + 1, true), labels_, stride_, own);
  shrunk_[t] = divide_by_greatest<Numbers>({own, labels_});
  if (Numbers::loses_in_row(shrunk_[t])) loses_ = true;
}

template <class Numbers>
bool ChainMarginals::sum_paths(double scale) {
  logarithms_ = Numbers::logarithms;
  loses_ = false;
  find_potentials<Numbers>(scores_, labels_, stride_, scale, potentials_);
  find_steps<Numbers>(scale);
  alpha_.resize(length_ * stride_);
  beta_.resize(length_ * stride_);
  norms_.resize(length_);
  shrunk_.assign(length_, Numbers::one);
  spare_.assign(stride_, Numbers::zero);
  for (std::size_t t = 0; t < length_; ++t) {
    count_steps((Numbers::logarithms ? 32 : 1) * labels_ * stride_ / 4);
    step_forward<Numbers>(t);
  }
  for (std::size_t t = length_; t-- > 0;) {
    step_backward<Numbers>(t);
    norms_[t] = Numbers::zero;
    for (std::size_t c = 0; c < labels_; ++c) {
      norms_[t] = Numbers::plus(norms_[t], Numbers::times(row(alpha_, t)[c], row(beta_, t)[c]));
    }
    if (loses_ || Numbers::loses_in_path(norms_[t])) return false;
  }
  return true;
}

double ChainMarginals::log_of(double number) const {
  return logarithms_ ? number : std::log(number);
}

void ChainMarginals::write_token(std::size_t t, double* result) const {
  const double* const alpha = row(alpha_, t);
  const double* const beta = row(beta_, t);
  for (std::size_t c = 0; c < labels_; ++c) {
    result[c] = logarithms_ ? share(alpha[c] + beta[c], norms_[t]) : alpha[c] * beta[c];
  }
  normalise({result, labels_});
}

double ChainMarginals::log_marginal(std::size_t t, std::size_t label) const {
  const double log = log_of(row(alpha_, t)[label]) + log_of(row(beta_, t)[label]) - log_of(norms_[t]);
  return std::min(log, 0.0);
}

// The chain is a Markov chain in either direction; from left to right, with its marginals at the start,
//   p(y_t = c | y_{t-1} = p) = E(p, c) e_t(c) beta_t(c) / sum of the same over all c
double ChainMarginals::log_probability(std::size_t first, std::span<const Labels> labels) const {
  if (labels.empty()) return 0;
  std::vector<double> reached, next;
  for (const std::uint16_t label : labels[0]) reached.push_back(log_marginal(first, label));
  for (std::size_t k = 1; k < labels.size(); ++k) {
    const std::size_t t = first + k;
    next.clear();
    for (const std::uint16_t label : labels[k]) {
      const double into = log_of(row(potentials_, t)[label]) + log_of(row(beta_, t)[label]) - log_of(shrunk_[t - 1]);
      next.push_back(log_sum_of(labels[k - 1].size(), [&](std::size_t from) {
        const std::uint16_t before = labels[k - 1][from];
        const double step = log_step(t, before, label);
        if (reached[from] == log_of_zero || step == log_of_zero || into == log_of_zero) return log_of_zero;
        return reached[from] + step + into - log_of(row(beta_, t - 1)[before]);
      }));
    }
    reached.swap(next);
  }
  return std::min(log_sum_of(reached.size(), [&](std::size_t k) { return reached[k]; }), 0.0);
}

}  // namespace marginloom
