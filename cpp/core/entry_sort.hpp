// Sorting the entries of a difference by their indices.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/candidate.hpp"

namespace marginloom {

// Digit by digit from the lowest, where there are more than a few: a hundred entries in random order take a comparing
// sort four times as long, since none of its comparisons can be foreseen. Entries of one index stay in their order.
// `spare` is room.
inline void sort_by_index(std::vector<Entry>& entries, std::vector<Entry>& spare) {
  constexpr std::size_t few = 24;
  constexpr unsigned bits = 8;
  constexpr std::size_t values = std::size_t{1} << bits;
  if (entries.size() <= few) {
    std::ranges::stable_sort(entries, {}, &Entry::index);
    return;
  }
  WeightIndex highest = 0;
  for (const Entry& entry : entries) highest = std::max(highest, entry.index);
  spare.resize(entries.size());
  for (unsigned shift = 0; shift < 32 && highest >> shift != 0; shift += bits) {
    const auto digit = [shift](const Entry& entry) { return entry.index >> shift & (values - 1); };
    std::array<std::uint32_t, values> places = {};
    for (const Entry& entry : entries) ++places[digit(entry)];
    std::uint32_t before = 0;
    for (std::uint32_t& place : places) before += std::exchange(place, before);
    for (const Entry& entry : entries) spare[places[digit(entry)]++] = entry;
    entries.swap(spare);
  }
}

}  // namespace marginloom
