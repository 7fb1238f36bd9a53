// Small random tagging problems, and what a task computes on them, written from the definitions.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "core/kernels.hpp"
#include "core/random.hpp"
#include "tasks/sequence/sequence.hpp"

namespace problems {

using marginloom::ByteView;
using marginloom::LabelIndex;
using marginloom::Random;

// Uniform over the multiples of 1/8 from -4 to 4: sums of such numbers are exact, so ties are real ties and
// results do not depend on the order of additions.
inline double eighths(Random& random) {
  return (static_cast<double>(random.below(65)) - 32) / 8;
}

inline double uniform(Random& random) {
  return static_cast<double>(random.next() >> 11) * 0x1p-52 - 1;
}  // -1 to 1

template <class Draw>
std::vector<double> random_vector(std::size_t size, Random& random, Draw draw) {
  std::vector<double> result(size);
  for (double& value : result) value = draw(random);
  return result;
}

inline bool same_bits(std::span<const double> a, std::span<const double> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

enum class Kind { indicators, values, dense };

struct Shape {
  std::size_t sentences = 8;
  std::size_t longest = 4;  // lengths are 0 .. longest
  std::size_t labels = 3;
  std::size_t features = 6;
  Kind kind = Kind::indicators;
  bool start_end = false;
  bool label_costs = false;
};

struct Problem {
  std::vector<std::uint64_t> sentences{0};
  std::vector<std::uint64_t> tokens{0};
  std::vector<std::uint32_t> features;
  std::vector<float> values;
  std::vector<LabelIndex> gold;
  std::size_t feature_count = 0;
  std::size_t label_count = 0;
  bool dense = false;
  marginloom::SequenceOptions options;

  [[nodiscard]] marginloom::SequenceData data() const {
    return {sentences,   dense ? std::span<const std::uint64_t>() : tokens,
            features,    values,
            gold,        feature_count,
            label_count, dense};
  }
  // The problem must outlive the task.
  [[nodiscard]] std::shared_ptr<const marginloom::SequenceTask> task() const {
    return std::make_shared<const marginloom::SequenceTask>(data(), options);
  }
  [[nodiscard]] std::size_t size() const { return sentences.size() - 1; }
  [[nodiscard]] std::size_t length(std::size_t i) const { return sentences[i + 1] - sentences[i]; }
  [[nodiscard]] std::vector<LabelIndex> gold_of(std::size_t i) const {
    return {gold.begin() + static_cast<std::ptrdiff_t>(sentences[i]),
            gold.begin() + static_cast<std::ptrdiff_t>(sentences[i + 1])};
  }
  [[nodiscard]] std::vector<std::size_t> examples() const {
    std::vector<std::size_t> all(size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }
};

// The same sentences with their features as rows of a dense array.
inline Problem dense_copy(Problem problem) {
  const std::size_t token_count = problem.sentences.back();
  std::vector<float> rows(token_count * problem.feature_count, 0.0F);
  for (std::size_t t = 0; t < token_count; ++t) {
    for (std::size_t j = problem.tokens[t]; j < problem.tokens[t + 1]; ++j) {
      rows[t * problem.feature_count + problem.features[j]] += problem.values.empty() ? 1.0F : problem.values[j];
    }
  }
  problem.values = rows;
  problem.features.clear();
  problem.dense = true;
  return problem;
}

// Features are drawn with replacement, so a token may have one twice, or none at all.
inline Problem make_problem(const Shape& shape, Random& random) {
  Problem problem;
  problem.feature_count = shape.features;
  problem.label_count = shape.labels;
  problem.options.start_end = shape.start_end;
  for (std::size_t i = 0; i < shape.sentences; ++i) {
    const std::size_t length = random.below(shape.longest + 1);
    for (std::size_t t = 0; t < length; ++t) {
      for (std::size_t left = random.below(4); left > 0; --left) {
        problem.features.push_back(static_cast<std::uint32_t>(random.below(shape.features)));
        if (shape.kind != Kind::indicators) problem.values.push_back(static_cast<float>(eighths(random)));
      }
      problem.tokens.push_back(problem.features.size());
      problem.gold.push_back(static_cast<LabelIndex>(random.below(shape.labels)));
    }
    problem.sentences.push_back(problem.gold.size());
  }
  if (shape.label_costs) {
    for (std::size_t y = 0; y < shape.labels; ++y) problem.options.label_costs.push_back(1 + random.below(8) / 4.0);
  }
  return shape.kind == Kind::dense ? dense_copy(problem) : problem;
}

// Calls visit(index, value) for what makes up phi(x_i, labels).
template <class Visit>
void visit_features(const Problem& problem, std::size_t i, std::span<const LabelIndex> labels, Visit visit) {
  const std::size_t stride = marginloom::padded(problem.label_count);
  const std::size_t first_row = problem.label_count + 2;
  for (std::size_t t = 0; t < labels.size(); ++t) {
    const std::size_t token = problem.sentences[i] + t;
    for (std::size_t f = 0; problem.dense && f < problem.feature_count; ++f) {
      visit((first_row + f) * stride + labels[t], double{problem.values[token * problem.feature_count + f]});
    }
    for (std::size_t j = problem.tokens[token]; !problem.dense && j < problem.tokens[token + 1]; ++j) {
      visit((first_row + problem.features[j]) * stride + labels[t],
            problem.values.empty() ? 1.0 : double{problem.values[j]});
    }
    if (t > 0) visit(labels[t - 1] * stride + labels[t], 1.0);
  }
  if (!problem.options.start_end || labels.empty()) return;
  visit(problem.label_count * stride + labels.front(), 1.0);
  visit((problem.label_count + 1) * stride + labels.back(), 1.0);
}

inline double score(const Problem& problem, std::size_t i, std::span<const LabelIndex> labels,
                    std::span<const double> w) {
  double sum = 0;
  visit_features(problem, i, labels, [&](std::size_t k, double value) { sum += w[k] * value; });
  return sum;
}

inline double loss(const Problem& problem, std::size_t i, std::span<const LabelIndex> labels) {
  const auto gold = problem.gold_of(i);
  double sum = 0;
  for (std::size_t t = 0; t < gold.size(); ++t) {
    if (labels[t] != gold[t]) sum += problem.options.label_costs.empty() ? 1 : problem.options.label_costs[gold[t]];
  }
  return sum;
}

// phi(x_i, gold) - phi(x_i, labels), all of it.
inline std::vector<double> difference(const Problem& problem, std::size_t i, std::span<const LabelIndex> labels,
                                      std::size_t dimension) {
  std::vector<double> result(dimension, 0.0);
  visit_features(problem, i, problem.gold_of(i), [&](std::size_t k, double value) { result[k] += value; });
  visit_features(problem, i, labels, [&](std::size_t k, double value) { result[k] -= value; });
  return result;
}

struct Best {
  std::vector<LabelIndex> labels;
  double score = 0;
};

// The best of all outputs by w.phi + loss_scale * loss. They are tried with the last label as the slowest to
// change, so the first of equals has the lowest label at the last token where equals differ.
inline Best enumerate(const Problem& problem, std::size_t i, std::span<const double> w, double loss_scale) {
  std::vector<LabelIndex> labels(problem.length(i), 0);
  Best best;
  for (bool first = true;; first = false) {
    double value = score(problem, i, labels, w);
    if (loss_scale != 0) value += loss_scale * loss(problem, i, labels);
    if (first || value > best.score) best = {labels, value};
    std::size_t t = 0;
    while (t < labels.size() && labels[t] + 1U == problem.label_count) labels[t++] = 0;
    if (t == labels.size()) return best;
    ++labels[t];
  }
}

inline std::vector<LabelIndex> decoded(const Problem& problem, ByteView bytes) {
  const std::size_t width = problem.label_count > 256 ? 2 : 1;
  std::vector<LabelIndex> labels(bytes.size() / width);
  for (std::size_t t = 0; t < labels.size(); ++t) {
    labels[t] = static_cast<LabelIndex>(width == 1 ? bytes[t] : bytes[2 * t] + 256 * bytes[2 * t + 1]);
  }
  return labels;
}

}  // namespace problems
