// The k best labellings, against enumeration, against sorted lists of prefixes, and where the answer is known.
#include "tasks/sequence/k_best.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "problems.hpp"
#include "tasks/sequence/sequence.hpp"
#include "test.hpp"

using marginloom::CandidateBatch;
using marginloom::KBestPaths;
using marginloom::LabelIndex;
using marginloom::Output;
using marginloom::Random;
using marginloom::SequenceOptions;
using problems::Best;
using problems::Kind;
using problems::Problem;

namespace {

bool allowed(const Problem& problem, std::span<const LabelIndex> labels) {
  std::uint32_t previous = SequenceOptions::boundary;
  const auto forbidden = [&](std::uint32_t label) {
    return std::ranges::count(problem.options.forbidden, std::pair(std::exchange(previous, label), label)) > 0;
  };
  return std::ranges::none_of(labels, forbidden) && !forbidden(SequenceOptions::boundary);
}

// All allowed outputs, best first. They are tried with the last label as the slowest to change, so that equals are in
// the order of their labels at the last token where they differ.
std::vector<Best> ranked(const Problem& problem, std::size_t i, std::span<const double> w, double loss_scale) {
  std::vector<Best> all;
  std::vector<LabelIndex> labels(problem.length(i), 0);
  for (bool more = true; more;) {
    if (allowed(problem, labels)) {
      const double loss = loss_scale * problems::loss(problem, i, labels);
      all.push_back({labels, problems::score(problem, i, labels, w) + loss});
    }
    std::size_t t = 0;
    while (t < labels.size() && labels[t] + 1U == problem.label_count) labels[t++] = 0;
    more = t < labels.size();
    if (more) ++labels[t];
  }
  std::ranges::stable_sort(all, std::ranges::greater{}, &Best::score);
  return all;
}

// Forbids random pairs of labels other than 0, and makes all gold labels 0, which then breaks nothing.
void constrain(Problem& problem, Random& random) {
  std::ranges::fill(problem.gold, LabelIndex{0});
  const auto draw = [&] {
    const auto label = static_cast<std::uint32_t>(random.below(problem.label_count));
    return label == 0 ? SequenceOptions::boundary : label;
  };
  for (std::size_t left = problem.label_count; left > 0; --left) {
    const std::uint32_t from = draw();
    const std::uint32_t to = draw();
    if (from != SequenceOptions::boundary || to != from) problem.options.forbidden.emplace_back(from, to);
  }
}

template <class Check>
void for_all_kinds(std::uint64_t seed, Check check) {
  Random random(seed);
  for (const Kind kind : {Kind::indicators, Kind::values, Kind::dense}) {
    for (const bool options : {false, true}) {
      for (const bool constraints : {false, true}) {
        for (const std::size_t labels : {1, 2, 3, 7}) {
          Problem problem = problems::make_problem({.sentences = 12,
                                                    .longest = labels > 3 ? 3U : 5U,
                                                    .labels = labels,
                                                    .kind = kind,
                                                    .start_end = options,
                                                    .label_costs = options},
                                                   random);
          if (constraints) constrain(problem, random);
          check(problem, random);
        }
      }
    }
  }
}

std::vector<Output> predict(const Problem& problem, std::size_t i, std::span<const double> w, int k) {
  const auto task = problem.task();
  std::vector<Output> outputs;
  task->predict(i, w, k, *task->make_scratch(), outputs);
  return outputs;
}

// One sentence whose features are the tokens themselves.
Problem sentence(std::size_t length, std::size_t labels) {
  Problem problem;
  problem.feature_count = length;
  problem.label_count = labels;
  for (std::size_t t = 0; t < length; ++t) {
    problem.features.push_back(static_cast<std::uint32_t>(t));
    problem.tokens.push_back(t + 1);
    problem.gold.push_back(0);
  }
  problem.sentences.push_back(length);
  return problem;
}

bool before(const Best& a, const Best& b) {
  if (a.score != b.score) return a.score > b.score;
  return std::ranges::lexicographical_compare(a.labels.rbegin(), a.labels.rend(), b.labels.rbegin(), b.labels.rend());
}

// The k best of `sentence` by keeping the k best prefixes for every token and label.
std::vector<Best> from_sorted_prefixes(const Problem& problem, std::span<const double> w, std::size_t k) {
  const std::size_t stride = marginloom::padded(problem.label_count);
  const auto keep = [&](std::vector<Best>& some) {
    const auto end = some.begin() + static_cast<std::ptrdiff_t>(std::min(k, some.size()));
    std::partial_sort(some.begin(), end, some.end(), before);
    some.erase(end, some.end());
  };
  std::vector<Best> prefixes{{}};
  for (std::size_t t = 0; t < problem.length(0); ++t) {
    std::vector<Best> longer;
    for (std::size_t label = 0; label < problem.label_count; ++label) {
      std::vector<Best> into;
      for (Best prefix : prefixes) {
        if (t > 0) prefix.score += w[prefix.labels.back() * stride + label];
        prefix.score += w[(problem.label_count + 2 + t) * stride + label];
        prefix.labels.push_back(static_cast<LabelIndex>(label));
        into.push_back(prefix);
      }
      keep(into);
      longer.insert(longer.end(), into.begin(), into.end());
    }
    prefixes = longer;
  }
  keep(prefixes);
  return prefixes;
}

}  // namespace

TEST("k-best: the first k of all outputs, ties to the lowest label from the end") {
  std::size_t ties = 0;
  std::size_t exhausted = 0;
  for_all_kinds(61, [&](const Problem& problem, Random& random) {
    const auto whole = [](Random& r) { return static_cast<double>(r.below(3)); };
    const auto w = problems::random_vector(problem.task()->dimension(), random, whole);
    for (std::size_t i = 0; i < problem.size(); ++i) {
      const auto expected = ranked(problem, i, w, 0);
      for (const int k : {1, 2, 3, 5, 17, 400}) {
        const auto outputs = predict(problem, i, w, k);
        CHECK(outputs.size() == std::min<std::size_t>(static_cast<std::size_t>(k), expected.size()));
        exhausted += outputs.size() < static_cast<std::size_t>(k);
        for (std::size_t j = 0; j < outputs.size(); ++j) {
          CHECK(problems::decoded(problem, outputs[j].bytes) == expected[j].labels);
          CHECK(outputs[j].score == expected[j].score);
          CHECK(outputs[j].upper_bound == expected[0].score);
          ties += j > 0 && outputs[j].score == outputs[j - 1].score;
        }
      }
    }
  });
  CHECK(ties > 10000);
  CHECK(exhausted > 500);
}

TEST("k-best: find brings the most violated outputs in order, without gold, down to min_violation") {
  std::size_t cut = 0;
  for_all_kinds(62, [&](const Problem& problem, Random& random) {
    const auto task = problem.task();
    const auto scratch = task->make_scratch();
    const auto w = problems::random_vector(task->dimension(), random, problems::eighths);
    for (std::size_t i = 0; i < problem.size(); ++i) {
      for (const double loss_scale : {0.0, 1.0, 16.0}) {
        const auto all = ranked(problem, i, w, loss_scale);
        const double gold = problems::score(problem, i, problem.gold_of(i), w);
        const std::size_t k = 2 + random.below(30);
        const double min_violation = random.below(2) == 0 ? -1e9 : problems::eighths(random);
        std::vector<Best> expected(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(k, all.size())));
        std::erase_if(expected,
                      [&](const Best& y) { return y.labels == problem.gold_of(i) || y.score - gold < min_violation; });
        cut += expected.size() + 1 < std::min(k, all.size());
        CandidateBatch found;
        const double bound =
            task->find(i, w, {.k = static_cast<int>(k), .loss_scale = loss_scale, .min_violation = min_violation},
                       *scratch, found);
        CHECK(bound == std::max(all[0].score - gold, 0.0));
        CHECK(found.size() == expected.size());
        for (std::size_t j = 0; j < found.size(); ++j) {
          CHECK(problems::decoded(problem, found[j].output) == expected[j].labels);
          CHECK(found[j].loss == problems::loss(problem, i, expected[j].labels));
        }
      }
    }
  });
  CHECK(cut > 100);
}

TEST("k-best: with weights that round, scores are right and descend, no output comes twice, the first is Viterbi's") {
  for_all_kinds(63, [](const Problem& problem, Random& random) {
    // Tenths of which many sums are equal but for rounding.
    const auto tenths = [](Random& r) { return static_cast<double>(r.below(5)) / 10; };
    const auto w = problems::random_vector(problem.task()->dimension(), random, tenths);
    for (std::size_t i = 0; i < problem.size(); ++i) {
      const auto expected = ranked(problem, i, w, 0);
      const auto first = predict(problem, i, w, 1);
      for (const std::size_t k : {2, 9, 1000}) {
        const auto outputs = predict(problem, i, w, static_cast<int>(k));
        CHECK(outputs.size() == std::min(k, expected.size()));
        CHECK(outputs[0].bytes == first[0].bytes);
        CHECK(problems::same_bits({&outputs[0].score, 1}, {&first[0].score, 1}));
        CHECK(std::ranges::is_sorted(outputs, std::ranges::greater{}, &Output::score));
        std::set<std::vector<LabelIndex>> seen;
        for (std::size_t j = 0; j < outputs.size(); ++j) {
          const auto labels = problems::decoded(problem, outputs[j].bytes);
          CHECK(allowed(problem, labels));
          CHECK_NEAR(outputs[j].score, expected[j].score, 1e-12);
          CHECK_NEAR(outputs[j].score, problems::score(problem, i, labels, w), 1e-12);
          seen.insert(labels);
        }
        CHECK(seen.size() == outputs.size());
      }
    }
  });
}

TEST("k-best: many labels and long sentences agree with sorted lists of prefixes") {
  Random random(64);
  struct Size {
    std::size_t length, labels;
    int k;
  };
  for (const auto& [length, labels, k] :
       {Size{24, 44, 10}, Size{2, 300, 700}, Size{1, 300, 301}, Size{60, 5, 40}, Size{200, 2, 25}, Size{30, 1, 3}}) {
    const Problem problem = sentence(length, labels);
    for (const bool many_ties : {false, true}) {
      const auto draw = [&](Random& r) { return many_ties ? static_cast<double>(r.below(2)) : problems::eighths(r); };
      const auto w = problems::random_vector(problem.task()->dimension(), random, draw);
      const auto expected = from_sorted_prefixes(problem, w, static_cast<std::size_t>(k));
      const auto outputs = predict(problem, 0, w, k);
      CHECK(outputs.size() == expected.size());
      for (std::size_t j = 0; j < outputs.size(); ++j) {
        CHECK(problems::decoded(problem, outputs[j].bytes) == expected[j].labels);
        CHECK(outputs[j].score == expected[j].score);
      }
    }
  }
}

TEST("k-best: when all scores are equal, paths count upwards from the first token") {
  const Problem problem = sentence(2000, 3);
  const std::vector<double> w(problem.task()->dimension(), 0.0);
  const auto outputs = predict(problem, 0, w, 300);
  CHECK(outputs.size() == 300);
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    std::size_t rest = j;
    for (const std::uint8_t label : outputs[j].bytes) {
      CHECK(label == rest % 3);
      rest /= 3;
    }
    CHECK(rest == 0);
  }
}

TEST("k-best: an empty sentence has one empty output, a contradiction is an error") {
  Problem problem = sentence(0, 3);
  problem.feature_count = 1;
  const std::vector<double> w(problem.task()->dimension(), 1.0);
  const auto outputs = predict(problem, 0, w, 4);
  CHECK(outputs.size() == 1 && outputs[0].bytes.empty() && outputs[0].score == 0);

  Problem contradiction = sentence(3, 2);
  contradiction.gold.clear();
  contradiction.options.forbidden = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  const std::vector<double> zeros(contradiction.task()->dimension(), 0.0);
  CHECK_THROWS(std::domain_error, predict(contradiction, 0, zeros, 4), "no labelling of sentence 0");
}

TEST("k-best: searches of different sizes one after the other do not disturb each other") {
  KBestPaths reused;
  Random random(65);
  for (int repeat = 0; repeat < 200; ++repeat) {
    const std::size_t length = random.below(5);
    const std::size_t labels = 1 + random.below(6);
    const auto prefixes = problems::random_vector(length * labels, random, problems::eighths);
    const auto transitions = problems::random_vector(labels * labels, random, problems::eighths);
    const std::size_t k = random.below(20);
    const std::size_t stop = random.below(25);
    KBestPaths fresh;
    reused.start({prefixes.data(), transitions.data(), length, labels, labels}, k);
    fresh.start({prefixes.data(), transitions.data(), length, labels, labels}, k);
    for (std::size_t found = 0; found < stop; ++found) {
      const bool more = fresh.next();
      CHECK(reused.next() == more);
      CHECK(!more || found < k);
      if (!more) break;
      CHECK(std::ranges::equal(reused.labels(), fresh.labels()));
      CHECK(reused.score() == fresh.score());
    }
  }
}

TEST("k-best: there is no path where nothing has a finite score") {
  constexpr double never = -std::numeric_limits<double>::infinity();
  const std::vector<double> prefixes{0.0, never, never, never};
  const std::vector<double> transitions(4, 0.0);
  KBestPaths paths;
  paths.start({prefixes.data(), transitions.data(), 2, 2, 2}, 3);
  CHECK(!paths.next());
  CHECK(!paths.next());
}
