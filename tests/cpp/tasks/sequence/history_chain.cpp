// Searches and sums that look two labels back, against what tries everything: exact ones, and beams of any width.
#include "tasks/sequence/history_chain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/aligned_vector.hpp"
#include "core/kernels.hpp"
#include "core/log_sum.hpp"
#include "problems.hpp"
#include "tasks/sequence/label_beam.hpp"
#include "tasks/sequence/pair_marginals.hpp"
#include "tasks/sequence/second_order.hpp"
#include "test.hpp"

using marginloom::AlignedVector;
using marginloom::HistoryChain;
using marginloom::LabelBeam;
using marginloom::LabelHistories;
using marginloom::LabelIndex;
using marginloom::PairMarginals;
using marginloom::PairViterbi;
using marginloom::PrefixChoice;
using marginloom::PrefixUpdate;
using marginloom::Random;

namespace {

constexpr double never = -std::numeric_limits<double>::infinity();

struct Size {
  std::size_t length;
  std::size_t labels;
};

// A chain with observations of every reach, and with triples. Weights are multiples of 1/8, so that sums are exact.
class Chain {
 public:
  Chain(Size size, Random& random) : size_(size), stride_(marginloom::padded(size.labels)) {
    const auto few = [&](std::size_t count) {
      AlignedVector<double> numbers(count);
      for (double& one : numbers) one = (static_cast<double>(random.below(33)) - 16) / 8;
      return numbers;
    };
    tokens_ = few(size.length * stride_);
    transitions_ = few(size.labels * stride_);
    for (const auto reach : {LabelHistories::Reach::before, LabelHistories::Reach::before_that,
                             LabelHistories::Reach::both, LabelHistories::Reach::both}) {
      draw_combinations(reach, random);
    }
    histories_.emplace(marginloom::LabelHistoryData{offsets_, before_, labels_, size.labels, true});
    weights_ = few(labels_.size());
    of_tokens_.push_back(0);
    for (std::size_t t = 0; t < size.length; ++t) {
      for (std::uint32_t o = 0; o < 3; ++o) {
        if (random.below(2) == 0) observed_.push_back(o);
      }
      of_tokens_.push_back(observed_.size());
    }
  }

  // Label 0 may follow any label, so that every prefix can go on.
  void forbid_some(Random& random) {
    for (std::size_t p = 0; p < size_.labels; ++p) {
      for (std::size_t c = 1; c < size_.labels; ++c) {
        if (random.below(3) == 0) transitions_[p * stride_ + c] = never;
      }
    }
  }

  [[nodiscard]] HistoryChain view() const {
    return {tokens_.data(), transitions_.data(), size_.length,    size_.labels,
            stride_,        &*histories_,        weights_.data(), {of_tokens_, observed_}};
  }

  // What the last label adds to the score of a prefix, from the definition.
  [[nodiscard]] double step(std::span<const LabelIndex> prefix) const {
    const std::size_t t = prefix.size() - 1;
    const LabelIndex label = prefix[t];
    if (t == 0) return tokens_[label];
    double sum = tokens_[t * stride_ + label] + transitions_[prefix[t - 1] * stride_ + label];
    for (std::size_t o = 0; o < offsets_.size() - 1; ++o) {
      const auto reach = histories_->reach(o);
      const bool here = o + 2 == offsets_.size() || std::ranges::count(view().observations.of(t), o) > 0;
      if (!here || (reach != LabelHistories::Reach::before && t < 2)) continue;
      const std::uint32_t history = histories_->history(reach, t < 2 ? 0 : prefix[t - 2], prefix[t - 1]);
      for (std::size_t j = offsets_[o]; j < offsets_[o + 1]; ++j) {
        if (before_[j] == history && labels_[j] == label) sum += weights_[j];
      }
    }
    return sum;
  }

 private:
  void draw_combinations(LabelHistories::Reach reach, Random& random) {
    const std::size_t any = size_.labels;
    std::set<std::pair<std::uint32_t, LabelIndex>> drawn;
    for (std::size_t left = 3 * any; left > 0; --left) {
      const std::size_t far = reach == LabelHistories::Reach::before ? any : random.below(any);
      const std::size_t near = reach == LabelHistories::Reach::before_that ? any : random.below(any);
      drawn.insert({static_cast<std::uint32_t>(far * (any + 1) + near), static_cast<LabelIndex>(random.below(any))});
    }
    for (const auto& [before, label] : drawn) {
      before_.push_back(before);
      labels_.push_back(label);
    }
    offsets_.push_back(labels_.size());
  }

  Size size_;
  std::size_t stride_;
  AlignedVector<double> tokens_;
  AlignedVector<double> transitions_;
  std::vector<std::uint64_t> offsets_{0};
  std::vector<std::uint32_t> before_;
  std::vector<LabelIndex> labels_;
  std::optional<LabelHistories> histories_;
  AlignedVector<double> weights_;
  std::vector<std::uint64_t> of_tokens_;
  std::vector<std::uint32_t> observed_;
};

struct Prefix {
  double score = 0;
  std::vector<LabelIndex> labels;
};

bool comes_before(const Prefix& a, const Prefix& b) {
  if (a.score != b.score) return a.score > b.score;
  return std::ranges::lexicographical_compare(a.labels.rbegin(), a.labels.rend(), b.labels.rbegin(), b.labels.rend());
}

// The beam after every token: each prefix is extended by each label, those with the same two last labels merge, unless
// all are wanted, and the best are kept.
std::vector<std::vector<Prefix>> beams(const Chain& chain, Size size, std::size_t beam, bool all = false) {
  std::vector<std::vector<Prefix>> found;
  std::vector<Prefix> kept(1);
  for (std::size_t t = 0; t < size.length; ++t) {
    std::map<std::pair<std::size_t, LabelIndex>, Prefix> merged;
    std::vector<Prefix> every;
    for (const Prefix& prefix : kept) {
      for (std::size_t label = 0; label < size.labels; ++label) {
        Prefix longer = prefix;
        longer.labels.push_back(static_cast<LabelIndex>(label));
        longer.score += chain.step(longer.labels);
        if (longer.score == never) continue;
        if (all) every.push_back(longer);
        const std::pair key(t == 0 ? 0U : prefix.labels.back(), longer.labels.back());
        const auto [place, is_new] = merged.try_emplace(key, longer);
        if (!is_new && comes_before(longer, place->second)) place->second = longer;
      }
    }
    kept.clear();
    for (const auto& [key, prefix] : merged) kept.push_back(prefix);
    if (all) kept = every;
    std::ranges::sort(kept, comes_before);
    kept.resize(std::min(kept.size(), beam));
    found.push_back(kept);
  }
  return found;
}

// Where states are sorted in several ways, and where rows have more than one register: labels and beams of all sizes.
template <class Check>
void for_all_chains(std::uint64_t seed, Check check) {
  Random random(seed);
  for (int trial = 0; trial < 120; ++trial) {
    const Size size{1 + random.below(7), 1 + random.below(trial % 3 == 0 ? 20 : 9)};
    Chain chain(size, random);
    if (trial % 2 == 0) chain.forbid_some(random);
    check(chain, size, random);
  }
}

}  // namespace

TEST("chains of order 2: a beam keeps the best prefixes, of which those with the same two last labels are one") {
  LabelBeam search;  // one for all, as a thread has it
  std::size_t wide = 0;
  for_all_chains(71, [&](const Chain& chain, Size size, Random& random) {
    for (const std::size_t beam : {std::size_t{1}, 2 + random.below(7), 9 + random.below(24), 33 + random.below(60)}) {
      const auto expected = beams(chain, size, beam);
      CHECK(search.search(chain.view(), beam) == expected.back().front().score);
      CHECK(search.length() == size.length);
      for (std::size_t t = 0; t < size.length; ++t) {
        std::vector<LabelIndex> labels;
        search.prefix(t + 1, labels);
        CHECK(labels == expected[t].front().labels);
        wide += expected[t].size() > 32;
      }
    }
  });
  CHECK(wide > 100);
}

TEST("chains of order 2: exact search finds the best path, as does a beam of all pairs of labels") {
  PairViterbi exact;
  LabelBeam beam;
  for_all_chains(72, [&](const Chain& chain, Size size, Random&) {
    const Prefix expected = beams(chain, size, size.labels * size.labels).back().front();
    std::vector<LabelIndex> labels;
    CHECK(exact.best_path(chain.view(), labels) == expected.score);
    CHECK(labels == expected.labels);
    CHECK(beam.search(chain.view(), size.labels * size.labels) == expected.score);
    beam.prefix(size.length, labels);
    CHECK(labels == expected.labels);
  });
}

TEST("chains of order 2: a search is followed until gold leaves the beam, and further where the update asks for it") {
  LabelBeam search;
  std::size_t left = 0;
  for_all_chains(73, [&](const Chain& chain, Size size, Random& random) {
    for (const PrefixUpdate update : {PrefixUpdate::max_violation, PrefixUpdate::early, PrefixUpdate::standard}) {
      const std::size_t beam = 1 + random.below(40);
      // Gold is found by a beam, so that it is allowed, or is worth following.
      const auto gold = beams(chain, size, 1 + random.below(3)).back().back().labels;
      const auto expected = beams(chain, size, beam);
      PrefixChoice choice(update);
      Prefix prefix;
      for (std::size_t t = 0; t < size.length && !choice.ends_search(); ++t) {
        prefix.labels.push_back(gold[t]);
        prefix.score += chain.step(prefix.labels);
        const bool in_beam = std::ranges::count(expected[t], prefix.labels, &Prefix::labels) > 0;
        choice.take(expected[t].front().score, prefix.score, in_beam);
        left += !in_beam;
      }
      PrefixChoice followed(update);
      search.follow(chain.view(), beam, gold, followed);
      CHECK(followed.length() == choice.length());
      CHECK(followed.violation() == choice.violation());
      std::vector<LabelIndex> labels;
      search.prefix(choice.length(), labels);
      CHECK(labels == expected[choice.length() - 1].front().labels);
    }
  });
  CHECK(left > 100);
}

TEST("chains of order 2: where nothing is allowed there is no path, and no prefix is left") {
  Random random(74);
  const Size size{3, 4};
  const Chain chain(size, random);
  HistoryChain contradiction = chain.view();
  const AlignedVector<double> forbidden(size.labels * contradiction.stride, never);
  contradiction.transitions = forbidden.data();
  LabelBeam beam;
  CHECK(beam.search(contradiction, 8) == never);
  PairViterbi exact;
  std::vector<LabelIndex> labels;
  CHECK(exact.best_path(contradiction, labels) == never);
  PairMarginals sums;
  sums.start(contradiction);
  CHECK(!sums.compute(1.0));
}

TEST("chains of order 2: sums over pairs give every label and every run of labels its share of all paths") {
  PairMarginals sums;  // one for all, as a thread has it
  Random random(75);
  std::size_t checked = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const Size size{1 + random.below(4), 1 + random.below(4)};
    Chain chain(size, random);
    if (trial % 2 == 0) chain.forbid_some(random);
    const auto paths = beams(chain, size, 1'000'000, true).back();
    // From sums that are plain numbers to those that only logarithms can hold.
    for (const double scale : {0.1, 1.0, 30.0, 100.0, 300.0, 1e5}) {
      const auto log_share = [&](auto belongs) {
        const auto term = [&](std::size_t k) { return belongs(paths[k].labels) ? scale * paths[k].score : never; };
        const auto all = [&](std::size_t k) { return scale * paths[k].score; };
        return marginloom::log_sum_of(paths.size(), term) - marginloom::log_sum_of(paths.size(), all);
      };
      sums.start(chain.view());
      CHECK(sums.compute(scale));
      for (std::size_t t = 0; t < size.length; ++t) {
        std::vector<double> shares(size.labels);
        sums.write_token(t, shares.data());
        for (std::size_t c = 0; c < size.labels; ++c) {
          const double expected = log_share([&](const auto& labels) { return labels[t] == c; });
          CHECK(std::abs(shares[c] - std::exp(expected)) < 1e-9);
          if (expected > -600) CHECK(std::abs(sums.log_marginal(t, c) - expected) < 1e-9 * (1 - expected));
        }
      }
      // A run of tokens, each with one label or several.
      const std::size_t first = random.below(size.length);
      std::vector<std::vector<LabelIndex>> run(1 + random.below(size.length - first));
      std::vector<PairMarginals::Labels> sets;
      for (auto& labels : run) {
        for (std::size_t c = 0; c < size.labels; ++c) {
          if (random.below(2) == 0) labels.push_back(static_cast<LabelIndex>(c));
        }
        sets.push_back(labels);
      }
      const double expected = log_share([&](const auto& labels) {
        for (std::size_t k = 0; k < run.size(); ++k) {
          if (std::ranges::count(run[k], labels[first + k]) == 0) return false;
        }
        return true;
      });
      const double found = sums.log_probability(first, sets);
      if (expected > -600) CHECK(std::abs(found - expected) < 1e-9 * (1 - expected) + 1e-12);
      checked += expected > -600;
    }
  }
  CHECK(checked > 150);
}
