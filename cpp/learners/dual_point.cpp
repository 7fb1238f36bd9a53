#include "learners/dual_point.hpp"

#include <algorithm>

namespace marginloom {

void DualPoint::clear() {
  std::ranges::fill(places_, Place());
  for (auto& duals : duals_) duals.clear();
}

void DualPoint::note(std::size_t i, const Block& block, std::size_t thread) {
  auto& duals = duals_[thread];
  const std::size_t first = duals.size();
  for (const Block::Row& row : block.rows()) {
    if (row.dual != 0) duals.push_back({row.key, row.dual});
  }
  places_[i] = {static_cast<std::uint32_t>(thread), static_cast<std::uint32_t>(duals.size() - first), first, true};
}

std::span<const KeyedDual> DualPoint::of(std::size_t i) const {
  const Place& place = places_[i];
  return std::span(duals_[place.thread]).subspan(place.first, place.count);
}

}  // namespace marginloom
