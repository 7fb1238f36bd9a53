#include "tasks/k_best.hpp"

#include <algorithm>
#include <cmath>

namespace marginloom {

const std::vector<KBestPaths::Path>& KBestPaths::find(const ChainScores& chain, std::size_t k) {
  paths_.clear();
  if (chain.length == 0) return paths_;
  labels_ = chain.labels;
  steps_.resize(std::max(steps_.size(), chain.length * labels_));
  for (std::size_t label = 0; label < labels_; ++label) {
    steps(0, label).clear();
    if (std::isfinite(chain.tokens[label])) steps(0, label).push_back({chain.tokens[label], 0, 0});
  }
  for (std::size_t t = 1; t < chain.length; ++t) {
    for (std::size_t label = 0; label < labels_; ++label) extend(chain, t, label, k);
  }
  const std::size_t last = chain.length - 1;
  std::vector<Next> ends;
  for (std::size_t label = 0; label < labels_; ++label) {
    const auto& found = steps(last, label);
    for (std::size_t rank = 0; rank < found.size(); ++rank) {
      ends.push_back({found[rank].score, static_cast<std::uint32_t>(rank), static_cast<std::uint16_t>(label)});
    }
  }
  std::ranges::stable_sort(ends, [](const Next& a, const Next& b) { return b < a; });
  for (std::size_t j = 0; j < std::min(k, ends.size()); ++j) {
    Path path{std::vector<std::uint16_t>(chain.length), ends[j].score};
    std::uint16_t label = ends[j].label;
    std::uint32_t rank = ends[j].rank;
    for (std::size_t t = last;; --t) {
      path.labels[t] = label;
      if (t == 0) break;
      const Step& step = steps(t, label)[rank];
      label = step.label;
      rank = step.rank;
    }
    paths_.push_back(std::move(path));
  }
  return paths_;
}

// The k best prefixes that end at token t in `label`: a merge of the sorted lists of the token before.
void KBestPaths::extend(const ChainScores& chain, std::size_t t, std::size_t label, std::size_t k) {
  const auto offer = [&](std::size_t from, std::uint32_t rank) {
    const auto& prefixes = steps(t - 1, from);
    if (rank >= prefixes.size()) return false;
    const double score = prefixes[rank].score + chain.transitions[from * chain.stride + label];
    if (std::isfinite(score)) heap_.push_back({score, rank, static_cast<std::uint16_t>(from)});
    return std::isfinite(score);
  };
  heap_.clear();
  for (std::size_t from = 0; from < labels_; ++from) offer(from, 0);
  std::make_heap(heap_.begin(), heap_.end());
  auto& found = steps(t, label);
  found.clear();
  const double own = chain.tokens[t * chain.stride + label];
  if (!std::isfinite(own)) return;
  while (!heap_.empty() && found.size() < k) {
    std::pop_heap(heap_.begin(), heap_.end());
    const Next best = heap_.back();
    heap_.pop_back();
    found.push_back({own + best.score, best.rank, best.label});
    if (offer(best.label, best.rank + 1)) std::push_heap(heap_.begin(), heap_.end());
  }
}

}  // namespace marginloom
