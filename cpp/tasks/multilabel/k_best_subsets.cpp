#include "tasks/multilabel/k_best_subsets.hpp"

#include <algorithm>
#include <bit>

#include "core/interruption.hpp"
#include "tasks/multilabel/label_sets.hpp"

namespace marginloom {

void KBestSubsets::start(std::span<const double> gains, std::span<const std::pair<std::uint32_t, std::uint32_t>> pairs,
                         const double* weights, std::size_t k) {
  for (auto& row : weights_) row.fill(0);
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const auto [a, b] = pairs[p];
    weights_[a][b] = weights_[b][a] = weights[p];
  }
  set_halves(gains);
  k_ = std::max<std::size_t>(k, 1);
  next_ = 0;
  found_.clear();
  std::array<std::array<double, half>, parts> crossing{};  // by upper part: what it adds to the lower labels
  for (std::size_t part = 0; part < std::size_t{1} << upper_.count; ++part) {
    if (part != 0) {
      crossing[part] = crossing[part & (part - 1)];
      const std::size_t label = upper_.first + static_cast<std::size_t>(std::countr_zero(part));
      for (std::size_t l = 0; l < lower_.count; ++l) crossing[part][l] += weights_[label][l];
    }
    const bool hopeless = found_.size() == k_ && upper_.inside[part] + bound(crossing[part]) < found_.front().score;
    if (!hopeless) score_parts(part, crossing[part]);
  }
  std::ranges::sort(found_, better);
}

void KBestSubsets::set_halves(std::span<const double> gains) {
  std::ranges::copy(gains, gains_.begin());
  lower_.first = 0;
  lower_.count = gains.size() / 2;
  upper_.first = lower_.count;
  upper_.count = gains.size() - lower_.count;
  score_inside(lower_);
  score_inside(upper_);
  best_inside_ = *std::max_element(lower_.inside.begin(), lower_.inside.begin() + (1 << lower_.count));
  attraction_ = 0;
  for (std::size_t a = 0; a < lower_.count; ++a) {
    for (std::size_t b = 0; b < a; ++b) attraction_ += std::max(weights_[a][b], 0.0);
  }
}

// A set scores what it does without its lowest label, and what that adds.
void KBestSubsets::score_inside(Half& side) const {
  side.inside[0] = 0;
  for (std::size_t part = 1; part < std::size_t{1} << side.count; ++part) {
    const std::size_t rest = part & (part - 1);
    const std::size_t label = side.first + static_cast<std::size_t>(std::countr_zero(part));
    double score = side.inside[rest] + gains_[label];
    for (std::size_t left = rest; left != 0; left &= left - 1) {
      score += weights_[label][side.first + static_cast<std::size_t>(std::countr_zero(left))];
    }
    side.inside[part] = score;
  }
}

double KBestSubsets::bound(const std::array<double, half>& crossing) const {
  double by_label = attraction_;
  double by_part = best_inside_;
  for (std::size_t l = 0; l < lower_.count; ++l) {
    by_label += std::max(gains_[l] + crossing[l], 0.0);
    by_part += std::max(crossing[l], 0.0);
  }
  constexpr double rounding = 1e-9;  // the sums of a set are added in another order
  return std::min(by_label, by_part) * (1 + rounding) + rounding;
}

void KBestSubsets::score_parts(std::size_t upper, const std::array<double, half>& crossing) {
  count_steps(parts);
  alignas(64) std::array<double, parts> scores;
  scores[0] = upper_.inside[upper];
  for (std::size_t l = 0; l < lower_.count; ++l) {
    const std::size_t count = std::size_t{1} << l;
    for (std::size_t part = 0; part < count; ++part) scores[count + part] = scores[part] + crossing[l];
  }
  const std::size_t count = std::size_t{1} << lower_.count;
  for (std::size_t part = 0; part < count; ++part) scores[part] += lower_.inside[part];
  for (std::size_t part = 0; part < count; ++part) {
    if (found_.size() < k_ || scores[part] >= found_.front().score) {
      offer({scores[part], static_cast<std::uint32_t>(part | upper << lower_.count)});
    }
  }
}

void KBestSubsets::offer(const Found& set) {
  if (found_.size() == k_) {
    if (!better(set, found_.front())) return;
    std::ranges::pop_heap(found_, better);
    found_.pop_back();
  }
  found_.push_back(set);
  std::ranges::push_heap(found_, better);
}

bool KBestSubsets::next() {
  if (next_ == found_.size()) return false;
  ++next_;
  return true;
}

void KBestSubsets::write(std::span<std::uint8_t> set) const {
  for (std::size_t byte = 0; byte < set.size(); ++byte) {
    set[byte] = static_cast<std::uint8_t>(found_[next_ - 1].set >> (8 * byte));
  }
}

}  // namespace marginloom
