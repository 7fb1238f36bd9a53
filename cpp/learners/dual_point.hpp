// The duals of blocks at some moment, to come back to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/block.hpp"

namespace marginloom {

class DualPoint {
 public:
  DualPoint(std::size_t examples, std::size_t threads) : places_(examples), duals_(threads) {}

  void clear();

  // Notes the duals of the block of example i as they are. Each of so many threads may do so at once, for different
  // examples.
  void note(std::size_t i, const Block& block, std::size_t thread);

  [[nodiscard]] bool has(std::size_t i) const { return places_[i].noted; }
  // Those that were not 0.
  [[nodiscard]] std::span<const KeyedDual> of(std::size_t i) const;

 private:
  struct Place {
    std::uint32_t thread = 0;
    std::uint32_t count = 0;
    std::size_t first = 0;
    bool noted = false;
  };
  std::vector<Place> places_;                  // by example
  std::vector<std::vector<KeyedDual>> duals_;  // by thread
};

}  // namespace marginloom
