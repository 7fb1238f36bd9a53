#include "tasks/multilabel/label_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "tasks/multilabel/label_sets.hpp"

namespace marginloom {

LabelPairs::LabelPairs(std::vector<LabelPair> pairs, std::size_t labels, PairSearch search)
    : labels_(labels), sweeps_(search.sweeps), pairs_(std::move(pairs)) {
  if (search.sweeps < 1) throw std::invalid_argument("a relaxation needs at least one sweep");
  if (pairs_.size() > std::numeric_limits<std::uint32_t>::max())
    throw std::invalid_argument("there are too many pairs");
  for (auto& [a, b] : pairs_) {
    if (a >= labels || b >= labels || a == b) {
      throw std::invalid_argument("a pair must name two different labels of " + std::to_string(labels) + ", not " +
                                  std::to_string(a) + " and " + std::to_string(b));
    }
    if (a > b) std::swap(a, b);
  }
  std::vector<LabelPair> sorted = pairs_;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end()) {
    throw std::invalid_argument("the pair of labels " + std::to_string(twice->first) + " and " +
                                std::to_string(twice->second) + " is there twice");
  }
  find_neighbours();
  find_forest();
  enumerates_ = !forest_ && labels <= KBestSubsets::most_labels && !search.relaxes;
}

void LabelPairs::find_neighbours() {
  first_neighbour_.assign(labels_ + 1, 0);
  for (const auto& [a, b] : pairs_) {
    ++first_neighbour_[a + 1];
    ++first_neighbour_[b + 1];
  }
  for (std::size_t l = 0; l < labels_; ++l) first_neighbour_[l + 1] += first_neighbour_[l];
  std::vector<std::size_t> next(first_neighbour_.begin(), first_neighbour_.end() - 1);
  neighbours_.resize(2 * pairs_.size());
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    const auto [a, b] = pairs_[p];
    neighbours_[next[a]++] = {b, static_cast<std::uint32_t>(p)};
    neighbours_[next[b]++] = {a, static_cast<std::uint32_t>(p)};
  }
}

// Breadth first from every label that is not reached yet. A graph with fewer edges than labels less components would be
// disconnected, one with more has a cycle.
void LabelPairs::find_forest() {
  std::vector<bool> reached(labels_, false);
  std::size_t roots = 0;
  for (std::uint32_t root = 0; root < labels_; ++root) {
    if (reached[root]) continue;
    reached[root] = true;
    ++roots;
    std::size_t next = nodes_.size();
    nodes_.push_back({root, root, 0});
    for (; next < nodes_.size(); ++next) {
      const std::uint32_t parent = nodes_[next].label;
      for (const Neighbour& neighbour : neighbours(parent)) {
        if (reached[neighbour.label]) continue;
        reached[neighbour.label] = true;
        nodes_.push_back({neighbour.label, parent, neighbour.pair});
      }
    }
  }
  forest_ = pairs_.size() + roots == labels_;
  if (!forest_) nodes_ = {};
}

double LabelPairs::score(ByteView set, const double* weights) const {
  double sum = 0;
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    if (whole(set, p)) sum += weights[p];
  }
  return sum;
}

double LabelPairs::common_differences(ByteView gold, ByteView a, ByteView b) const {
  std::size_t count = 0;
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    const bool right = whole(gold, p);
    count += whole(a, p) != right && whole(b, p) != right ? 1 : 0;
  }
  return static_cast<double>(count);
}

PairOptimum LabelPairs::maximise(std::span<const double> gains, const double* weights, std::size_t k,
                                 PairBuffers& buffers, std::span<std::uint8_t> set) const {
  if (enumerates_) {
    buffers.subsets.start(gains, pairs_, weights, k);
    const double best = next(buffers, set).value();
    return {best, best};
  }
  if (!forest_) return solve_relaxed(gains, weights, buffers, set);
  const PairOptimum best = solve_forest(gains, weights, buffers, set);
  if (k > 1) buffers.next_of_forest.start({nodes_, buffers.on, buffers.off, weights}, best.score, set, k);
  return best;
}

std::optional<double> LabelPairs::next(PairBuffers& buffers, std::span<std::uint8_t> set) const {
  if (enumerates_) {
    if (!buffers.subsets.next()) return std::nullopt;
    buffers.subsets.write(set);
    return buffers.subsets.score();
  }
  if (!forest_ || !buffers.next_of_forest.next()) return std::nullopt;
  std::ranges::copy(buffers.next_of_forest.set(), set.begin());
  return buffers.next_of_forest.score();
}

// Max-product: from the leaves up, what the best subtree brings with its root absent and present; then down again. Of
// equals the label is absent.
PairOptimum LabelPairs::solve_forest(std::span<const double> gains, const double* weights, PairBuffers& buffers,
                                     std::span<std::uint8_t> set) const {
  auto& on = buffers.on;
  auto& off = buffers.off;
  on.assign(gains.begin(), gains.end());
  off.assign(labels_, 0.0);
  double best = 0;
  for (std::size_t n = nodes_.size(); n-- > 0;) {
    const auto [label, parent, pair] = nodes_[n];
    if (label == parent) {
      best += std::max(off[label], on[label]);
      continue;
    }
    off[parent] += std::max(off[label], on[label]);
    on[parent] += std::max(off[label], on[label] + weights[pair]);
  }
  std::ranges::fill(set, std::uint8_t{0});
  for (const auto& [label, parent, pair] : nodes_) {
    const bool pulled = label != parent && has_label(set, parent);
    if (on[label] + (pulled ? weights[pair] : 0) > off[label]) put_label(set, label, true);
  }
  return {best, best};
}

}  // namespace marginloom
