// Searches for trees against all trees there are.
#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "all_trees.hpp"
#include "core/interruption.hpp"
#include "core/random.hpp"
#include "problems.hpp"
#include "tasks/parse/arc_features.hpp"
#include "tasks/parse/eisner.hpp"
#include "tasks/parse/k_best_trees.hpp"
#include "tasks/parse/rearrange.hpp"
#include "tasks/parse/sibling_eisner.hpp"
#include "tasks/parse/spanning_tree.hpp"
#include "test.hpp"

using marginloom::ArcScores;
using marginloom::Eisner;
using marginloom::Heads;
using marginloom::nearest_sibling;
using marginloom::Random;
using marginloom::SiblingEisner;
using marginloom::SpanningTree;

namespace {

constexpr double never = -std::numeric_limits<double>::infinity();

ArcScores random_scores(std::size_t length, Random& random) {
  ArcScores scores;
  scores.resize(length);
  for (std::size_t h = 0; h <= length; ++h) {
    for (std::size_t m = 1; m <= length; ++m) scores.at(h, m) = problems::eighths(random);
  }
  return scores;
}

// Scores of siblings that are drawn once each.
class RandomSiblings {
 public:
  explicit RandomSiblings(Random& random) : random_(random) {}
  double operator()(std::size_t head, std::size_t sibling, std::size_t modifier) {
    const auto [place, is_new] = known_.try_emplace({head, sibling, modifier}, 0.0);
    if (is_new) place->second = problems::eighths(random_);
    return place->second;
  }
  // As SiblingEisner asks for them.
  const double* operator()(std::size_t head, std::size_t modifier) {
    row_.assign(std::max(head, modifier) + 1, 0.0);
    row_[0] = (*this)(head, 0, modifier);
    for (std::size_t s = std::min(head, modifier) + 1; s < std::max(head, modifier); ++s) {
      row_[s] = (*this)(head, s, modifier);
    }
    return row_.data();
  }
  double sum(const Heads& heads) {
    double sum = 0;
    for (std::size_t m = 1; m < heads.size(); ++m) sum += (*this)(heads[m], nearest_sibling(heads, m), m);
    return sum;
  }

 private:
  Random& random_;
  std::vector<double> row_;
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, double> known_;
};

// The obvious way to rearrange: everything is computed anew for every change. Returns how many were made.
std::size_t rearrange_slowly(const ArcScores& scores, RandomSiblings& siblings, bool one_root, Heads& heads) {
  const auto score = [&](const Heads& tree) { return sum_of_arcs(scores, tree) + siblings.sum(tree); };
  std::size_t changes = 0;
  for (; changes + 1 < heads.size(); ++changes) {
    double best = score(heads) + 1e-9;
    Heads changed;
    for (std::size_t m = 1; m < heads.size(); ++m) {
      for (std::size_t h = one_root ? 1 : 0; h < heads.size() && !(one_root && heads[m] == 0); ++h) {
        Heads other = heads;
        other[m] = static_cast<marginloom::Head>(h);
        if (h == m || !marginloom::is_tree(other, one_root) || !(score(other) > best)) continue;
        best = score(other);
        changed = other;
      }
    }
    if (changed.empty()) break;
    heads = changed;
  }
  return changes;
}

template <class Score>
double best_of(const std::vector<Heads>& trees, Score score) {
  double best = never;
  for (const Heads& tree : trees) best = std::max(best, score(tree));
  return best;
}

template <class Search>
void check_first_order(bool projective, std::size_t longest, Search search) {
  Random random(7);
  for (std::size_t length = 0; length <= longest; ++length) {
    for (const bool one_root : {true, false}) {
      const auto trees = all_trees::of(length, projective, one_root);
      for (int turn = 0; turn < 60; ++turn) {
        const ArcScores scores = random_scores(length, random);
        Heads heads;
        const double found = search(scores, one_root, heads);
        CHECK(found == best_of(trees, [&](const Heads& tree) { return sum_of_arcs(scores, tree); }));
        CHECK(std::ranges::find(trees, heads) != trees.end());
        CHECK(sum_of_arcs(scores, heads) == found);
      }
    }
  }
}

}  // namespace

TEST("trees: what is a tree and what is projective agrees with the definitions") {
  for (std::size_t length = 0; length <= 4; ++length) {
    const auto any = all_trees::of(length, false, false);
    for (const Heads& tree : any) {
      CHECK(marginloom::is_tree(tree, false));
      CHECK(marginloom::is_projective(tree) == all_trees::has_no_gap(tree));
      const bool one = length == 0 || std::count(tree.begin() + 1, tree.end(), 0) == 1;
      CHECK(marginloom::is_tree(tree, true) == one);
    }
  }
  CHECK(!marginloom::is_tree(Heads{0, 2, 1, 0}, false));
  CHECK(!marginloom::is_tree(Heads{0, 1}, false));
  CHECK(!marginloom::is_tree(Heads{0, 3}, false));
}

TEST("trees: numbers of trees are the known ones") {
  CHECK(all_trees::of(4, false, false).size() == 125);  // 5^3
  CHECK(all_trees::of(4, false, true).size() == 64);    // 4^3
  CHECK(all_trees::of(4, true, false).size() == 55);
  CHECK(all_trees::of(4, true, true).size() == 30);
}

TEST("eisner: finds the best projective tree") {
  Eisner eisner;
  check_first_order(true, 5, [&](const ArcScores& scores, bool one_root, Heads& heads) {
    return eisner.best_tree(scores, one_root, heads);
  });
}

TEST("spanning tree: finds the best tree") {
  SpanningTree search;
  check_first_order(false, 5, [&](const ArcScores& scores, bool one_root, Heads& heads) {
    return search.best_tree(scores, one_root, heads);
  });
}

TEST("spanning tree: one root is exact whatever the size of scores") {
  SpanningTree search;
  ArcScores scores;
  scores.resize(3);
  const double huge = 1e12;
  for (std::size_t m = 1; m <= 3; ++m) scores.at(0, m) = huge;
  scores.at(1, 2) = 0.25;
  scores.at(3, 2) = 0.5;
  scores.at(1, 3) = 0.125;
  scores.at(3, 1) = 0.25;
  Heads heads;
  CHECK(search.best_tree(scores, true, heads) == huge + 0.75);
  CHECK(heads == (Heads{0, 3, 3, 0}));
}

TEST("spanning tree: long sentences end as trees that no single arc improves") {
  Random random(8);
  SpanningTree search;
  for (const std::size_t length : {40, 300}) {
    ArcScores scores = random_scores(length, random);
    Heads heads;
    for (const bool one_root : {true, false}) {
      const double found = search.best_tree(scores, one_root, heads);
      CHECK(marginloom::is_tree(heads, one_root));
      for (std::size_t m = 1; m <= length; m += 7) {
        for (std::size_t h = 1; h <= length; ++h) {
          Heads other = heads;
          other[m] = static_cast<marginloom::Head>(h);
          if (marginloom::is_tree(other, one_root)) CHECK(sum_of_arcs(scores, other) <= found);
        }
      }
    }
  }
}

TEST("sibling eisner: finds the best projective tree of second order") {
  Random random(9);
  SiblingEisner search;
  for (std::size_t length = 0; length <= 5; ++length) {
    for (const bool one_root : {true, false}) {
      const auto trees = all_trees::of(length, true, one_root);
      for (int turn = 0; turn < 60; ++turn) {
        const ArcScores scores = random_scores(length, random);
        RandomSiblings siblings(random);
        const auto score = [&](const Heads& tree) { return sum_of_arcs(scores, tree) + siblings.sum(tree); };
        Heads heads;
        const double found = search.best_tree(scores, one_root, std::ref(siblings), heads);
        CHECK(found == best_of(trees, score));
        CHECK(score(heads) == found);
        CHECK(std::ranges::find(trees, heads) != trees.end());
      }
    }
  }
}

TEST("rearrangement: never worse than its start, a tree, and what it gains is true") {
  Random random(10);
  SiblingEisner search;
  marginloom::Rearrangement rearrangement;
  std::size_t raised = 0;
  for (std::size_t length = 1; length <= 6; ++length) {
    for (const bool one_root : {true, false}) {
      for (int turn = 0; turn < 60; ++turn) {
        const ArcScores scores = random_scores(length, random);
        RandomSiblings siblings(random);
        Heads heads;
        const double start = search.best_tree(scores, one_root, std::ref(siblings), heads);
        const double gained = rearrangement.improve(scores, one_root, std::ref(siblings), heads);
        CHECK(gained >= 0);
        raised += gained > 0 ? 1 : 0;
        CHECK(marginloom::is_tree(heads, one_root));
        CHECK_NEAR(sum_of_arcs(scores, heads) + siblings.sum(heads), start + gained, 1e-9);
      }
    }
  }
  CHECK(raised > 50);
}

TEST("rearrangement: makes the changes that gain most, as if all were computed anew") {
  Random random(12);
  marginloom::Rearrangement rearrangement;
  std::size_t most = 0;
  for (std::size_t length = 1; length <= 9; ++length) {
    for (const bool one_root : {true, false}) {
      for (int turn = 0; turn < 20; ++turn) {
        const ArcScores scores = random_scores(length, random);
        RandomSiblings siblings(random);
        Heads heads(length + 1);  // a chain: there is much to change
        for (std::size_t m = 1; m <= length; ++m) heads[m] = static_cast<marginloom::Head>(m - 1);
        Heads expected = heads;
        rearrangement.improve(scores, one_root, std::ref(siblings), heads);
        most = std::max(most, rearrange_slowly(scores, siblings, one_root, expected));
        CHECK(heads == expected);
      }
    }
  }
  CHECK(most > 4);
}

TEST("rearrangement: work is bounded by the cube of the length") {
  Random random(13);
  marginloom::Rearrangement rearrangement;
  for (const std::size_t length : {20, 40, 80}) {
    ArcScores scores;
    scores.resize(length);
    Heads heads(length + 1, 0);  // from a chain to arcs that all come from the last word, one change after the other
    for (std::size_t m = 1; m < length; ++m) {
      heads[m] = static_cast<marginloom::Head>(m + 1);
      scores.at(length, m) = static_cast<double>(m);
    }
    std::size_t asked = 0;
    const auto sibling = [&](std::size_t, std::size_t, std::size_t) {
      ++asked;
      return 0.0;
    };
    CHECK(rearrangement.improve(scores, false, sibling, heads) > 0);
    CHECK(std::ranges::count(heads, static_cast<marginloom::Head>(length)) == static_cast<std::ptrdiff_t>(length) - 1);
    CHECK(asked <= 3 * 3 * (length + 1) * (length + 1));  // of all arcs, and of two heads for each change
  }
}

TEST("trees: every search listens, and goes on right after it was stopped") {
  constexpr std::size_t length = 70;
  Random random(14);
  const ArcScores scores = random_scores(length, random);
  const auto sibling = [](std::size_t head, std::size_t other, std::size_t modifier) {
    return static_cast<double>((7 * head + 5 * other + 3 * modifier) % 11);
  };
  std::vector<double> row;
  const auto siblings = [&](std::size_t head, std::size_t modifier) {
    row.resize(length + 1);
    for (std::size_t s = 0; s <= length; ++s) row[s] = sibling(head, s, modifier);
    return row.data();
  };
  Eisner eisner;
  SiblingEisner sibling_eisner;
  SpanningTree spanning_tree;
  marginloom::Rearrangement rearrangement;
  const std::vector<std::function<void(Heads&)>> searches{
      [&](Heads& heads) { eisner.best_tree(scores, true, heads); },
      [&](Heads& heads) { sibling_eisner.best_tree(scores, true, siblings, heads); },
      [&](Heads& heads) {
        for (int turn = 0; turn < 4; ++turn) spanning_tree.best_tree(scores, true, heads);
      },
      [&](Heads& heads) {
        for (std::size_t m = 0; m <= length; ++m) heads[m] = static_cast<marginloom::Head>(m == 0 ? 0 : m - 1);
        rearrangement.improve(scores, true, sibling, heads);
      },
  };
  for (const auto& search : searches) {
    Heads expected(length + 1), heads(length + 1);
    search(expected);
    marginloom::StopRequest stop([] { return true; }, marginloom::StopRequest::Time(0));
    {
      const marginloom::Listening listening(stop);
      CHECK_THROWS(marginloom::Interrupted, search(heads), "interrupted");
    }
    search(heads);
    CHECK(heads == expected);
  }
}

TEST("k best trees: the best ones in order, each once, for every exact search") {
  Random random(11);
  Eisner eisner;
  SpanningTree spanning_tree;
  marginloom::KBestTrees k_best;
  for (const bool projective : {true, false}) {
    for (std::size_t length = 1; length <= 4; ++length) {
      for (const bool one_root : {true, false}) {
        const ArcScores scores = random_scores(length, random);
        const auto search = [&](const ArcScores& some, Heads& heads) {
          return projective ? eisner.best_tree(some, one_root, heads) : spanning_tree.best_tree(some, one_root, heads);
        };
        auto trees = all_trees::of(length, projective, one_root);
        std::vector<double> expected;
        for (const Heads& tree : trees) expected.push_back(sum_of_arcs(scores, tree));
        std::ranges::sort(expected, std::greater());
        for (const std::size_t k : {std::size_t{1}, std::size_t{3}, trees.size() + 5}) {
          std::vector<Heads> found;
          std::vector<double> sums;
          k_best.find(scores, k, search, [&](const Heads& heads, double score) {
            found.push_back(heads);
            sums.push_back(score);
            return true;
          });
          CHECK(sums == std::vector<double>(expected.begin(), expected.begin() + std::min(k, expected.size())));
          std::ranges::sort(found);
          CHECK(std::ranges::adjacent_find(found) == found.end());
        }
      }
    }
  }
}
