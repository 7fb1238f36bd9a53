// The products of every two of some sparse differences.
//
// Entries are looked up one by one in a table of those that earlier differences have, so that most, which no other
// difference has, cost one look; pairs are not merged one by one. Each product is the sum that sparse_product() makes,
// of the same additions in the same order.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "core/candidate.hpp"

namespace marginloom {

class DifferenceProducts {
 public:
  // Begins anew, with room for so many entries.
  void reset(std::size_t differences, std::size_t entries) {
    count_ = differences;
    taken_ = 0;
    products_.assign(differences * differences, 0.0);
    shift_ = 64 - static_cast<int>(std::bit_width(2 * entries + 1));
    slots_.assign(std::size_t{1} << (64 - shift_), none);
    places_.clear();
    places_.reserve(entries);
  }

  // Takes the next difference: sorted by index, each once.
  void add(std::span<const Entry> difference) {
    double* const own = products_.data() + taken_ * count_;
    for (const Entry& entry : difference) {
      std::uint32_t& slot = slot_of(entry.index);
      for (std::uint32_t k = slot; k != none; k = places_[k].next) {
        own[places_[k].difference] += double{entry.value} * places_[k].value;
      }
      places_.push_back({entry.index, slot, static_cast<std::uint32_t>(taken_), entry.value});
      slot = static_cast<std::uint32_t>(places_.size() - 1);
    }
    ++taken_;
  }

  // Of one with another that came before it.
  [[nodiscard]] double of(std::size_t later, std::size_t earlier) const { return products_[later * count_ + earlier]; }

 private:
  static constexpr std::uint32_t none = 0xFFFFFFFF;

  struct Place {
    WeightIndex index;
    std::uint32_t next;  // of the same index
    std::uint32_t difference;
    double value;
  };

  // The last place of an index; none, to be filled in, if there is no such place yet.
  [[nodiscard]] std::uint32_t& slot_of(WeightIndex index) {
    std::size_t k = index * 0x9E3779B97F4A7C15ULL >> shift_;
    while (slots_[k] != none && places_[slots_[k]].index != index) k = (k + 1) & (slots_.size() - 1);
    return slots_[k];
  }

  std::size_t count_ = 0;
  std::size_t taken_ = 0;
  std::vector<double> products_;
  int shift_ = 63;
  std::vector<std::uint32_t> slots_;
  std::vector<Place> places_;
};

}  // namespace marginloom
