#include "tasks/multilabel/k_best_sets.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tasks/multilabel/label_sets.hpp"

namespace marginloom {

void KBestSets::start(std::span<const double> gains, std::size_t k) {
  gains_ = gains;
  k_ = k;
  count_ = 0;
  best_score_ = 0;
  for (const double gain : gains) best_score_ += std::max(gain, 0.0);
  found_.clear();
  heap_.clear();
  order_.clear();
  const std::size_t needed = std::min(gains.size(), k > 0 ? k - 1 : 0);
  if (needed == 0) return;
  order_.resize(gains.size());
  std::iota(order_.begin(), order_.end(), 0u);
  const auto cheaper = [&](std::uint32_t a, std::uint32_t b) {
    const double first = std::abs(gains_[a]);
    const double second = std::abs(gains_[b]);
    return first != second ? first < second : a < b;
  };
  std::partial_sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(needed), order_.end(), cheaper);
  order_.resize(needed);
}

void KBestSets::offer(std::uint32_t prefix, std::uint32_t last) {
  if (last >= order_.size()) return;
  heap_.push_back({cost_of(prefix) + std::abs(gains_[order_[last]]), prefix, last});
  std::ranges::push_heap(heap_, std::greater<>(), &Flips::cost);
}

bool KBestSets::next() {
  if (count_ == k_) return false;
  if (count_++ == 0) {
    offer(none, 0);
    return true;
  }
  if (heap_.empty()) return false;
  std::ranges::pop_heap(heap_, std::greater<>(), &Flips::cost);
  const Flips flips = heap_.back();
  heap_.pop_back();
  found_.push_back(flips);
  offer(flips.prefix, flips.last + 1);
  offer(static_cast<std::uint32_t>(found_.size() - 1), flips.last + 1);
  return true;
}

void KBestSets::write(std::span<std::uint8_t> set) const {
  std::ranges::fill(set, std::uint8_t{0});
  for (std::size_t l = 0; l < gains_.size(); ++l) {
    if (gains_[l] > 0) put_label(set, l, true);
  }
  for (std::size_t at = found_.size(); at > 0;) {
    const Flips& flips = found_[at - 1];
    const std::uint32_t label = order_[flips.last];
    put_label(set, label, !(gains_[label] > 0));
    at = flips.prefix == none ? 0 : flips.prefix + 1;
  }
}

}  // namespace marginloom
