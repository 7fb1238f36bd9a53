#include "tasks/sequence/viterbi.hpp"

#include <limits>

#include "core/entry_sort.hpp"
#include "core/kernels.hpp"
#include "problems.hpp"
#include "test.hpp"

using marginloom::ChainScores;
using marginloom::Entry;
using marginloom::Random;
using marginloom::Viterbi;

namespace {

struct Path {
  double score;
  std::vector<std::uint16_t> labels;
};

// With every label tried before every other one.
Path best_path_naively(std::vector<double> scores, const std::vector<double>& transitions, std::size_t labels,
                       std::size_t stride) {
  const std::size_t length = scores.size() / stride;
  std::vector<std::size_t> before(scores.size());
  for (std::size_t t = 1; t < length; ++t) {
    for (std::size_t c = 0; c < labels; ++c) {
      double best = -std::numeric_limits<double>::infinity();
      for (std::size_t p = 0; p < labels; ++p) {
        const double score = scores[(t - 1) * stride + p] + transitions[p * stride + c];
        if (score > best) {
          best = score;
          before[t * stride + c] = p;
        }
      }
      scores[t * stride + c] += best;
    }
  }
  const auto last = scores.end() - static_cast<std::ptrdiff_t>(stride);
  std::size_t label =
      static_cast<std::size_t>(std::max_element(last, last + static_cast<std::ptrdiff_t>(labels)) - last);
  Path result{last[static_cast<std::ptrdiff_t>(label)], std::vector<std::uint16_t>(length)};
  for (std::size_t t = length; t-- > 0; label = before[t * stride + label]) {
    result.labels[t] = static_cast<std::uint16_t>(label);
  }
  return result;
}

// A chain whose scores are spread so widely; few different numbers make ties.
struct Chain {
  std::size_t labels;
  std::size_t stride;
  std::vector<double> scores;
  std::vector<double> transitions;

  Chain(std::size_t labels, double spread, bool ties, Random& random)
      : labels(labels), stride(marginloom::padded(labels)) {
    const auto number = [&](Random& from) {
      return ties ? static_cast<double>(from.below(3)) : problems::uniform(from);
    };
    scores = problems::random_vector((1 + random.below(12)) * stride, random, number);
    transitions = problems::random_vector(labels * stride, random, number);
    for (double& score : scores) score *= spread;
  }
  void forbid_some(Random& random) {
    for (std::size_t p = 0; p < labels; ++p) {
      for (std::size_t c = 0; c < labels; ++c) {
        if (c != p && random.below(4) == 0) {
          transitions[p * stride + c] = -std::numeric_limits<double>::infinity();
        }
      }
    }
  }
};

void check(Viterbi& viterbi, const Chain& chain) {
  const Path expected = best_path_naively(chain.scores, chain.transitions, chain.labels, chain.stride);
  auto scores = chain.scores;
  std::vector<std::uint16_t> labels;
  const double score =
      viterbi.best_path(viterbi.score_prefixes(scores, chain.transitions.data(), chain.labels, chain.stride), labels);
  CHECK(score == expected.score);
  CHECK(labels == expected.labels);
}

}  // namespace

TEST("viterbi: the best path is that of trying everything, whatever is left out") {
  Random random(5);
  Viterbi viterbi;
  for (int trial = 0; trial < 600; ++trial) {
    const std::size_t labels = 1 + random.below(trial % 2 == 0 ? 12 : 130);
    const double spread = trial % 3 == 0 ? 0.1 : trial % 3 == 1 ? 3 : 30;
    Chain chain(labels, spread, random.below(3) == 0, random);
    if (random.below(4) == 0) chain.forbid_some(random);
    check(viterbi, chain);
  }
}

TEST("viterbi: transitions that change on the way back lead to a path all the same") {
  Random random(6);
  Viterbi viterbi;
  Chain chain(40, 3, false, random);
  chain.scores.resize(20 * chain.stride, 0.5);
  auto scores = chain.scores;
  const ChainScores forward = viterbi.score_prefixes(scores, chain.transitions.data(), chain.labels, chain.stride);
  for (double& weight : chain.transitions) weight += problems::uniform(random);
  std::vector<std::uint16_t> labels;
  (void)viterbi.best_path(forward, labels);
  CHECK(labels.size() == 20);
  for (const auto label : labels) CHECK(label < chain.labels);
}

TEST("entries are sorted by their indices, and those of one index keep their order") {
  Random random(7);
  std::vector<Entry> spare;
  for (int trial = 0; trial < 200; ++trial) {
    const std::uint64_t range = std::uint64_t{1} << (1 + random.below(32));
    std::vector<Entry> entries(random.below(300));
    for (std::size_t k = 0; k < entries.size(); ++k) {
      entries[k] = {static_cast<marginloom::WeightIndex>(random.below(range)), static_cast<float>(k)};
    }
    auto expected = entries;
    std::ranges::stable_sort(expected, {}, &Entry::index);
    marginloom::sort_by_index(entries, spare);
    CHECK(std::ranges::equal(entries, expected,
                             [](const Entry& a, const Entry& b) { return a.index == b.index && a.value == b.value; }));
  }
}
