#include "tasks/sequence/k_best.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/interruption.hpp"

namespace marginloom {

void KBestPaths::start(const ChainScores& chain, std::size_t k) {
  chain_ = chain;
  k_ = k;
  ++search_;
  predecessors_.resize(std::max(predecessors_.size(), chain.length * chain.labels + 1));
  found_.clear();
  labels_.clear();
  heap_.clear();
}

bool KBestPaths::next() {
  if (found_.size() == k_ || chain_.length == 0) return false;
  if (found_.empty()) {
    best_score_ = predecessors(chain_.length, 0).best_score;
    if (!std::isfinite(best_score_)) return false;
    add_path({.token = static_cast<std::uint32_t>(chain_.length)});
    return true;
  }
  offer_children();
  if (heap_.empty()) return false;
  std::pop_heap(heap_.begin(), heap_.end(), [this](const auto& a, const auto& b) { return precedes(b, a); });
  const Deviation cheapest = heap_.back();
  heap_.pop_back();
  offer_sibling(cheapest);
  add_path(cheapest);
  return true;
}

// Calls function(p, score) for each label p that can precede `label` at token t, with the score of the best prefix that
// ends in p and of the step. The step to the end, at the token after the last, scores nothing.
template <class Function>
void KBestPaths::visit_steps(std::size_t t, std::size_t label, Function function) {
  static constexpr double nothing = 0;
  count_steps(chain_.labels);
  const bool end = t == chain_.length;
  const double* prefixes = chain_.prefixes + (t - 1) * chain_.stride;
  if (chain_.local && !end) {
    chain_.transitions_into(t, label, column_);
    for (std::size_t p = 0; p < chain_.labels; ++p) function(p, prefixes[p] + column_[p]);
    return;
  }
  const double* into = end ? &nothing : chain_.transitions + label;
  const std::size_t stride = end ? 0 : chain_.stride;
  for (std::size_t p = 0; p < chain_.labels; ++p) function(p, prefixes[p] + into[p * stride]);
}

const KBestPaths::Predecessors& KBestPaths::predecessors(std::size_t t, std::size_t label) {
  Predecessors& stored = predecessors_[(t - 1) * chain_.labels + label];
  if (stored.search == search_) return stored;
  Predecessors found{never, never, search_, 0, 0};
  visit_steps(t, label, [&](std::size_t p, double score) {
    if (!(score > found.second_score)) return;
    if (score > found.best_score) {
      found.second_score = found.best_score;
      found.second = found.best;
      found.best_score = score;
      found.best = static_cast<std::uint16_t>(p);
    } else {
      found.second_score = score;
      found.second = static_cast<std::uint16_t>(p);
    }
  });
  return stored = found;
}

// Writes the path's labels out: those of its parent down to the token where it deviates, then the best predecessors.
void KBestPaths::add_path(const Deviation& deviation) {
  const std::size_t first = labels_.size();
  labels_.resize(first + chain_.length);
  std::uint16_t* labels = labels_.data() + first;
  std::size_t t = deviation.token;
  std::uint16_t label = deviation.label;
  if (t < chain_.length) {
    std::ranges::copy(labels_of(deviation.parent).subspan(t), labels + t);
    labels[t] = label;
  }
  for (; t > 0; --t) labels[t - 1] = label = predecessors(t, label).best;
  found_.push_back(deviation);
}

// The second best predecessors of the path found last, as far as it follows the best.
void KBestPaths::offer_children() {
  const Deviation& path = found_.back();
  const auto parent = static_cast<std::uint32_t>(found_.size() - 1);
  for (std::size_t t = path.token; t > 0; --t) {
    const Predecessors& step = predecessors(t, t == chain_.length ? 0 : labels()[t]);
    offer({.cost = path.cost + (step.best_score - step.second_score),
           .score = step.second_score,
           .parent = parent,
           .depth = path.depth + 1,
           .token = static_cast<std::uint32_t>(t - 1),
           .label = step.second});
  }
  drop_hopeless();
}

// The next label at the token where a path deviates from its parent.
void KBestPaths::offer_sibling(const Deviation& deviation) {
  const std::size_t t = deviation.token + std::size_t{1};
  const std::size_t label = t == chain_.length ? 0 : labels_of(deviation.parent)[t];
  Deviation sibling = deviation;
  sibling.score = never;
  visit_steps(t, label, [&](std::size_t p, double score) {
    const bool later = score < deviation.score || (score == deviation.score && p > deviation.label);
    if (!later || !(score > sibling.score)) return;
    sibling.score = score;
    sibling.label = static_cast<std::uint16_t>(p);
  });
  sibling.cost = found_[deviation.parent].cost + (predecessors(t, label).best_score - sibling.score);
  offer(sibling);
}

void KBestPaths::offer(const Deviation& deviation) {
  if (deviation.score == never) return;
  heap_.push_back(deviation);
  std::push_heap(heap_.begin(), heap_.end(), [this](const auto& a, const auto& b) { return precedes(b, a); });
}

// Keeps the heap to about twice as many paths as are still wanted.
void KBestPaths::drop_hopeless() {
  const std::size_t wanted = k_ - found_.size();
  if (heap_.size() / 2 <= wanted) return;
  const auto first = [this](const Deviation& a, const Deviation& b) { return precedes(a, b); };
  std::nth_element(heap_.begin(), heap_.begin() + static_cast<std::ptrdiff_t>(wanted), heap_.end(), first);
  heap_.resize(wanted);
  std::make_heap(heap_.begin(), heap_.end(), [this](const auto& a, const auto& b) { return precedes(b, a); });
}

// Whether a comes before b. At equal cost the labels decide: above the deviations from the last common ancestor both
// paths have its labels, and the higher one of these deviations is where they differ.
bool KBestPaths::precedes(const Deviation& a, const Deviation& b) const {
  if (a.cost != b.cost) return a.cost < b.cost;
  const Deviation* x = &a;
  const Deviation* y = &b;
  while (x->depth > y->depth) x = &found_[x->parent];
  while (y->depth > x->depth) y = &found_[y->parent];
  while (x->parent != y->parent) {
    x = &found_[x->parent];
    y = &found_[y->parent];
  }
  const std::span<const std::uint16_t> ancestor = labels_of(x->parent);
  if (x->token == y->token) return x->label < y->label;
  return x->token > y->token ? x->label < ancestor[x->token] : ancestor[y->token] < y->label;
}

}  // namespace marginloom
