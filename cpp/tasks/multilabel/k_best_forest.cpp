#include "tasks/multilabel/k_best_forest.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/interruption.hpp"
#include "tasks/multilabel/label_sets.hpp"

namespace marginloom {

void KBestForest::start(const ForestScores& forest, double best_score, ByteView best, std::size_t k) {
  forest_ = forest;
  k_ = k;
  bytes_ = best.size();
  found_ = 1;
  best_score_ = best_score;
  cost_ = 0;
  heap_.clear();
  sets_.assign(best.begin(), best.end());
  offer_children(0);
}

double KBestForest::margin(const ForestNode& node, ByteView set) const {
  const bool pulled = node.label != node.parent && has_label(set, node.parent);
  return forest_.on[node.label] + (pulled ? forest_.weights[node.pair] : 0) - forest_.off[node.label];
}

bool KBestForest::next() {
  if (found_ == k_ || heap_.empty()) return false;
  std::ranges::pop_heap(heap_, std::greater<>(), &Deviation::cost);
  count_steps(forest_.nodes.size());
  const Deviation deviation = heap_.back();
  heap_.pop_back();
  cost_ = deviation.cost;
  sets_.resize((found_ + 1) * bytes_);
  const auto set = std::span(sets_).subspan(found_ * bytes_, bytes_);
  std::ranges::copy(set_of(deviation.parent), set.begin());
  const std::uint32_t flipped = forest_.nodes[deviation.node].label;
  put_label(set, flipped, !has_label(set, flipped));
  for (const ForestNode& node : forest_.nodes.subspan(deviation.node + 1)) {
    put_label(set, node.label, margin(node, set) > 0);
  }
  ++found_;
  offer_children(deviation.node + 1);
  return true;
}

void KBestForest::offer_children(std::size_t first_node) {
  if (found_ == k_) return;
  for (std::size_t n = first_node; n < forest_.nodes.size(); ++n) {
    const double cost = cost_ + std::abs(margin(forest_.nodes[n], set()));
    heap_.push_back({cost, static_cast<std::uint32_t>(found_ - 1), static_cast<std::uint32_t>(n)});
    std::ranges::push_heap(heap_, std::greater<>(), &Deviation::cost);
  }
  drop_hopeless();
}

// No more sets than are still wanted can come of the heap, so that many are enough.
void KBestForest::drop_hopeless() {
  const std::size_t wanted = k_ - found_;
  if (heap_.size() < 2 * wanted + 16) return;
  std::ranges::nth_element(heap_, heap_.begin() + static_cast<std::ptrdiff_t>(wanted), {}, &Deviation::cost);
  heap_.resize(wanted);
  std::ranges::make_heap(heap_, std::greater<>(), &Deviation::cost);
}

}  // namespace marginloom
