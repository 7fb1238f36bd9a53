#include "tasks/relations/type_sums.hpp"

#include <algorithm>
#include <cmath>

#include "core/interruption.hpp"
#include "core/log_sum.hpp"

namespace marginloom {

void TypeSums::start(const TypeTable& table, const JointScores& scores) {
  table_ = &table;
  scores_ = &scores;
}

// The logarithm of the sum over the labels that an ordered pair may have between these types.
double TypeSums::log_labels(std::size_t a, std::size_t b, std::size_t head, std::size_t tail) const {
  const double* const row = scores_->pair(a, b);
  return log_sum_of(table_->labels(), [&](std::size_t label) {
    return table_->allows(label, head, tail) ? scale_ * row[label] : log_of_zero;
  });
}

bool TypeSums::compute(double scale) {
  const std::size_t spans = scores_->spans;
  const std::size_t types = table_->types();
  scale_ = scale;
  types_.assign(spans, 0);
  terms_.assign(spans * spans * types * types, 0.0);
  singles_.assign(spans * types, 0.0);
  doubles_.assign(terms_.size(), 0.0);
  for (std::size_t a = 0; a < spans; ++a) {
    for (std::size_t b = a + 1; b < spans; ++b) {
      for (std::size_t t = 0; t < types * types; ++t) {
        terms_[place(a, b) + t] = log_labels(a, b, t / types, t % types) + log_labels(b, a, t % types, t / types);
      }
    }
  }
  greatest_ = log_of_zero;
  find_greatest(0, 0);
  if (!std::isfinite(greatest_)) return false;
  const double sum = add(0, 0);
  log_sum_ = greatest_ + std::log(sum);
  for (double& value : doubles_) value /= sum;
  for (std::size_t a = 0; a < spans; ++a) normalise(std::span(singles_).subspan(a * types, types));
  return true;
}

// The sum of the terms of the spans up to `depth`, of which the last has this type.
double TypeSums::step(std::size_t depth, double total, std::size_t type) const {
  const std::size_t types = table_->types();
  total += scale_ * scores_->type(depth, type);
  for (std::size_t a = 0; a < depth; ++a) total += terms_[place(a, depth) + types_[a] * types + type];
  return total;
}

void TypeSums::find_greatest(std::size_t depth, double total) {
  if (depth == scores_->spans) {
    greatest_ = std::max(greatest_, total);
    return;
  }
  count_steps(table_->types() * (depth + 1));
  for (std::size_t type = 0; type < table_->types(); ++type) {
    types_[depth] = type;
    find_greatest(depth + 1, step(depth, total, type));
  }
}

double TypeSums::add(std::size_t depth, double total) {
  if (depth == scores_->spans) return std::exp(total - greatest_);
  const std::size_t types = table_->types();
  count_steps(types * (depth + 1));
  double all = 0;
  for (std::size_t type = 0; type < types; ++type) {
    types_[depth] = type;
    const double sum = add(depth + 1, step(depth, total, type));
    if (sum == 0) continue;
    all += sum;
    singles_[depth * types + type] += sum;
    for (std::size_t a = 0; a < depth; ++a) doubles_[place(a, depth) + types_[a] * types + type] += sum;
  }
  return all;
}

double TypeSums::label(std::size_t a, std::size_t b, std::size_t label) const {
  const std::size_t types = table_->types();
  const std::size_t first = std::min(a, b);
  const std::size_t second = std::max(a, b);
  double sum = 0;
  for (std::size_t t = 0; t < types * types; ++t) {
    const double both = doubles_[place(first, second) + t];
    const std::size_t head = a == first ? t / types : t % types;
    const std::size_t tail = a == first ? t % types : t / types;
    if (both == 0 || !table_->allows(label, head, tail)) continue;
    sum += both * share(scale_ * scores_->pair(a, b)[label], log_labels(a, b, head, tail));
  }
  return sum;
}

double TypeSums::log_output(const std::uint32_t* choices) const {
  const std::size_t spans = scores_->spans;
  double total = 0;
  for (std::size_t a = 0; a < spans; ++a) total += scale_ * scores_->type(a, choices[a]);
  const std::uint32_t* label = choices + spans;
  for (std::size_t a = 0; a < spans; ++a) {
    for (std::size_t b = 0; b < spans; ++b) {
      if (a == b) continue;
      if (!table_->allows(*label, choices[a], choices[b])) return log_of_zero;
      total += scale_ * scores_->pair(a, b)[*label++];
    }
  }
  return std::min(total - log_sum_, 0.0);
}

}  // namespace marginloom
