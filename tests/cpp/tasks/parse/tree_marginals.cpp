// Probabilities of arcs, labels and trees against sums over all trees there are.
#include "tasks/parse/tree_marginals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "all_trees.hpp"
#include "core/log_sum.hpp"
#include "core/random.hpp"
#include "problems.hpp"
#include "tasks/parse/arc_features.hpp"
#include "test.hpp"

using marginloom::ArcScores;
using marginloom::Heads;
using marginloom::nearest_sibling;
using marginloom::Random;
using marginloom::TreeKind;
using marginloom::TreeMarginals;

namespace {

constexpr double never = -std::numeric_limits<double>::infinity();

struct Sentence {
  ArcScores arcs;
  std::vector<std::vector<std::vector<double>>> siblings;  // by head, modifier and sibling
  std::vector<std::vector<std::vector<double>>> labels;    // by head, modifier and label
};

Sentence random_sentence(std::size_t length, std::size_t labels, double size, Random& random) {
  const auto draw = [&] { return size * problems::eighths(random); };
  Sentence sentence;
  sentence.arcs.resize(length);
  sentence.siblings.resize(length + 1);
  sentence.labels.resize(length + 1);
  for (std::size_t h = 0; h <= length; ++h) {
    sentence.siblings[h].assign(length + 1, std::vector<double>(length + 1));
    sentence.labels[h].assign(length + 1, std::vector<double>(labels));
    for (std::size_t m = 1; m <= length; ++m) {
      sentence.arcs.at(h, m) = draw();
      for (double& score : sentence.siblings[h][m]) score = draw();
      for (double& score : sentence.labels[h][m]) score = draw();
    }
  }
  return sentence;
}

struct Choices {
  TreeKind kind;
  bool siblings = false;
  std::size_t labels = 0;
};

void load(const Sentence& sentence, const Choices& choices, TreeMarginals& marginals) {
  marginals.start(sentence.arcs);
  std::vector<std::uint16_t> allowed(choices.labels);
  std::iota(allowed.begin(), allowed.end(), std::uint16_t{0});
  for (std::size_t h = 0; h <= sentence.arcs.length(); ++h) {
    for (std::size_t m = 1; m <= sentence.arcs.length(); ++m) {
      if (h == m) continue;
      // Label 0 is not for arcs from the root.
      const auto own = std::span(allowed).subspan(h == 0 && choices.labels > 1 ? 1 : 0);
      if (choices.labels > 0) marginals.add_labels(h, m, own, sentence.labels[h][m].data(), choices.labels);
      if (choices.siblings) marginals.add_siblings(h, m, sentence.siblings[h][m].data());
    }
  }
}

// The log weight of a tree, summed over its labels.
double weight(const Sentence& sentence, const Choices& choices, double scale, const Heads& heads) {
  double sum = 0;
  for (std::size_t m = 1; m < heads.size(); ++m) {
    const std::size_t h = heads[m];
    sum += scale * sentence.arcs.at(h, m);
    if (choices.siblings) sum += scale * sentence.siblings[h][m][nearest_sibling(heads, m)];
    const std::size_t first = h == 0 && choices.labels > 1 ? 1 : 0;
    if (choices.labels == 0) continue;
    sum += marginloom::log_sum_of(choices.labels - first,
                                  [&](std::size_t k) { return scale * sentence.labels[h][m][first + k]; });
  }
  return sum;
}

void check(const Sentence& sentence, const Choices& choices, double scale, TreeMarginals& marginals) {
  const std::size_t length = sentence.arcs.length();
  const auto trees = all_trees::of(length, choices.kind.projective, choices.kind.one_root);
  std::vector<double> weights;
  for (const Heads& heads : trees) weights.push_back(weight(sentence, choices, scale, heads));
  const double all = marginloom::log_sum_of(weights.size(), [&](std::size_t k) { return weights[k]; });
  load(sentence, choices, marginals);
  CHECK(marginals.compute(scale, choices.kind) == (all > never));
  if (all == never) return;
  ArcScores expected;
  expected.resize(length);
  for (std::size_t k = 0; k < trees.size(); ++k) {
    for (std::size_t m = 1; m <= length; ++m) expected.at(trees[k][m], m) += std::exp(weights[k] - all);
    if (weights[k] > never) CHECK_NEAR(marginals.log_tree(trees[k]), weights[k] - all, 1e-9 * (1 - weights[k] + all));
  }
  for (std::size_t m = 1; m <= length; ++m) {
    double sum = 0;
    for (std::size_t h = 0; h <= length; ++h) {
      if (h == m) continue;
      CHECK_NEAR(marginals.arc(h, m), expected.at(h, m), 1e-10);
      sum += marginals.arc(h, m);
      double labels = choices.labels == 0 ? 1 : 0;
      for (std::size_t label = 0; label < choices.labels; ++label) labels += std::exp(marginals.log_label(h, m, label));
      CHECK_NEAR(labels, 1, 1e-12);
      if (h == 0 && choices.labels > 1) CHECK(marginals.log_label(h, m, 0) == never);
    }
    CHECK_NEAR(sum, 1, 1e-12);
  }
}

std::vector<Choices> all_choices() {
  std::vector<Choices> result;
  for (const bool one_root : {true, false}) {
    for (const std::size_t labels : {0, 1, 3}) {
      result.push_back({{true, one_root}, false, labels});
      result.push_back({{true, one_root}, true, labels});
      result.push_back({{false, one_root}, false, labels});
    }
  }
  return result;
}

}  // namespace

TEST("tree marginals: arcs, labels and trees are as probable as the sums over all trees say") {
  Random random(3);
  TreeMarginals marginals;
  for (const Choices& choices : all_choices()) {
    for (std::size_t length = 1; length <= 5; ++length) {
      for (int turn = 0; turn < 10; ++turn) {
        const Sentence sentence = random_sentence(length, choices.labels, 1, random);
        for (const double scale : {0.125, 1.0, 3.0}) check(sentence, choices, scale, marginals);
      }
    }
  }
}

TEST("tree marginals: scores of a million lose nothing and overflow nowhere") {
  Random random(4);
  TreeMarginals marginals;
  for (const Choices& choices : all_choices()) {
    for (std::size_t length = 1; length <= 4; ++length) {
      for (int turn = 0; turn < 10; ++turn) {
        check(random_sentence(length, choices.labels, 1e6, random), choices, 1, marginals);
      }
    }
  }
}

TEST("tree marginals: arcs that are forbidden have probability 0, and no tree is noticed") {
  Random random(5);
  TreeMarginals marginals;
  for (const Choices& choices : all_choices()) {
    for (int turn = 0; turn < 60; ++turn) {
      Sentence sentence = random_sentence(4, choices.labels, 1, random);
      for (std::size_t h = 0; h <= 4; ++h) {
        for (std::size_t m = 1; m <= 4; ++m) {
          if (random.below(2) == 0) sentence.arcs.at(h, m) = never;
        }
      }
      check(sentence, choices, 1, marginals);
    }
  }
}
