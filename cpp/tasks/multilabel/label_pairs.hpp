// Interactions of labels: pairs that have a weight of their own where both labels are present. What is maximised, with
// a gain g_l for every label l that is present and a weight v_ab for every pair (a, b):
//
//   max over sets S of labels   sum_{l in S} g_l + sum_{pairs (a, b), both in S} v_ab
//
// Pairs that form a forest are solved exactly by max-product, in time linear in labels, and other graphs of a few
// labels by looking at every set. Larger ones are solved by relaxation, with an upper bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/types.hpp"
#include "tasks/multilabel/k_best_forest.hpp"
#include "tasks/multilabel/k_best_subsets.hpp"

namespace marginloom {

using LabelPair = std::pair<std::uint32_t, std::uint32_t>;

// What inference changes. One thread uses one at a time.
struct PairBuffers {
  std::vector<double> on;          // forest: best of the subtree with the label present; relaxation: theta_u(1)
  std::vector<double> off;         // ... and absent
  std::vector<double> messages;    // relaxation: four per pair
  std::vector<double> flip_gains;  // relaxation: what adding the label would bring
  std::vector<std::uint8_t> set;   // relaxation: the set that a local search has reached
  KBestForest next_of_forest;      // what the sets after the best one are found by
  KBestSubsets subsets;
};

struct PairOptimum {
  double score = 0;  // of the set found
  double bound = 0;  // no set scores more; equal to `score` if exact
};

// By label.
struct LogMarginals {
  std::span<double> present;
  std::span<double> absent;
};

// How graphs with cycles are searched.
struct PairSearch {
  bool relaxes = false;  // even where the labels are few enough to look at every set
  int sweeps = 30;       // of the relaxation at most
};

class LabelPairs {
 public:
  LabelPairs() = default;
  // Throws std::invalid_argument if a pair names a label beyond the last, or one label twice, or comes twice.
  LabelPairs(std::vector<LabelPair> pairs, std::size_t labels, PairSearch search);

  [[nodiscard]] std::size_t size() const { return pairs_.size(); }
  [[nodiscard]] bool empty() const { return pairs_.empty(); }
  [[nodiscard]] bool exact() const { return forest_ || enumerates_; }

  // Fills `set` with the best set found; `weights` has one number per pair. Prepares for k sets in all, of which there
  // are more than one where it is exact.
  PairOptimum maximise(std::span<const double> gains, const double* weights, std::size_t k, PairBuffers& buffers,
                       std::span<std::uint8_t> set) const;
  // The score of the next best set, which it fills in; none if there is none, or k have been found. The weights must be
  // as they were.
  std::optional<double> next(PairBuffers& buffers, std::span<std::uint8_t> set) const;

  // Where the pairs form a forest: fills in the logarithms of the probabilities that each label is present and absent,
  // where that of a set is proportional to the exponential of what it brings.
  [[nodiscard]] bool is_forest() const { return forest_; }
  void forest_marginals(std::span<const double> gains, const double* weights, PairBuffers& buffers,
                        LogMarginals result) const;
  // After that: the log probability of a set.
  [[nodiscard]] double log_probability(ByteView set, const double* weights, const PairBuffers& buffers) const;

  // sum of the weights of the pairs that are both in the set.
  [[nodiscard]] double score(ByteView set, const double* weights) const;

  // How many pairs are whole in `gold` and in neither of the sets, or in both sets and not in `gold`.
  [[nodiscard]] double common_differences(ByteView gold, ByteView a, ByteView b) const;

  // Calls function(pair, +1 or -1) for the pairs that are whole in one of the sets only: +1 if that is `a`.
  template <class Function>
  void visit_difference(ByteView a, ByteView b, Function function) const {
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      const bool in_a = whole(a, p);
      if (in_a != whole(b, p)) function(p, in_a ? 1.0 : -1.0);
    }
  }

 private:
  struct Neighbour {
    std::uint32_t label;
    std::uint32_t pair;
  };

  [[nodiscard]] bool whole(ByteView set, std::size_t p) const {
    const auto [a, b] = pairs_[p];
    return ((set[a / 8] >> (a % 8)) & (set[b / 8] >> (b % 8)) & 1) != 0;
  }
  [[nodiscard]] std::span<const Neighbour> neighbours(std::size_t label) const {
    return std::span(neighbours_)
        .subspan(first_neighbour_[label], first_neighbour_[label + 1] - first_neighbour_[label]);
  }
  void find_neighbours();
  void find_forest();
  PairOptimum solve_forest(std::span<const double> gains, const double* weights, PairBuffers& buffers,
                           std::span<std::uint8_t> set) const;
  PairOptimum solve_relaxed(std::span<const double> gains, const double* weights, PairBuffers& buffers,
                            std::span<std::uint8_t> set) const;
  double relax(const double* weights, PairBuffers& buffers) const;
  double search_locally(std::span<const double> gains, const double* weights, PairBuffers& buffers) const;

  std::size_t labels_ = 0;
  int sweeps_ = 0;
  bool forest_ = true;
  bool enumerates_ = false;
  std::vector<LabelPair> pairs_;
  std::vector<std::size_t> first_neighbour_;
  std::vector<Neighbour> neighbours_;
  std::vector<ForestNode> nodes_;  // of a forest, parents before their children
};

}  // namespace marginloom
