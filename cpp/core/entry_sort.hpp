// Putting the entries of a difference into the order of their indices, each once.
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

// Sums entries of the same index and removes those that cancel out.
inline void coalesce(std::vector<Entry>& entries, std::vector<Entry>& spare) {
  sort_by_index(entries, spare);
  std::size_t kept = 0;
  for (std::size_t j = 0; j < entries.size();) {
    const WeightIndex index = entries[j].index;
    double sum = 0;
    for (; j < entries.size() && entries[j].index == index; ++j) sum += entries[j].value;
    if (sum != 0) entries[kept++] = {index, sum};
  }
  entries.resize(kept);
}

}  // namespace marginloom
