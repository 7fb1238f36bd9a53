// Changes to a few weights that are not made to the weights themselves, so that a thread can try steps on weights that
// it must not write.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "core/types.hpp"

namespace marginloom {

class Overlay {
 public:
  [[nodiscard]] double at(WeightIndex k) const {
    const Slot& slot = slots_[find(k)];
    return slot.key == k ? slot.change : 0;
  }
  void add(WeightIndex k, double change) {
    std::size_t place = find(k);
    if (slots_[place].key == nobody) {
      if (2 * (used_.size() + 1) > slots_.size()) {
        grow();
        place = find(k);
      }
      slots_[place] = {k, 0};
      used_.push_back(static_cast<std::uint32_t>(place));
    }
    slots_[place].change += change;
  }
  // Calls visit(index, change) for every weight that was changed.
  template <class Visit>
  void visit(Visit visit) const {
    for (const std::uint32_t place : used_) visit(static_cast<WeightIndex>(slots_[place].key), slots_[place].change);
  }
  void clear() {
    for (const std::uint32_t place : used_) slots_[place] = {};
    used_.clear();
  }

 private:
  static constexpr std::uint64_t nobody = ~std::uint64_t{0};
  struct Slot {
    std::uint64_t key = nobody;
    double change = 0;
  };

  // Where k is, or where it would be.
  [[nodiscard]] std::size_t find(WeightIndex k) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t place = (k * std::uint64_t{0x9E3779B97F4A7C15}) >> shift_;
    while (slots_[place].key != k && slots_[place].key != nobody) place = (place + 1) & mask;
    return place;
  }
  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    shift_ = 64 - std::countr_zero(slots_.size());
    used_.clear();
    for (const Slot& slot : old) {
      if (slot.key == nobody) continue;
      const std::size_t place = find(static_cast<WeightIndex>(slot.key));
      slots_[place] = slot;
      used_.push_back(static_cast<std::uint32_t>(place));
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(256);  // a power of two, at most half full
  int shift_ = 64 - 8;
  std::vector<std::uint32_t> used_;
};

}  // namespace marginloom
