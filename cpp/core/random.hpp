// Random numbers whose whole state is one word, so that it can be saved and restored.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

namespace marginloom {

class Random {  // splitmix64
 public:
  explicit Random(std::uint64_t state) : state_(state) {}

  [[nodiscard]] std::uint64_t state() const { return state_; }

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  // Uniform over 0 .. bound-1 up to a bias of bound / 2^32. Requires 0 < bound <= 2^32.
  std::uint64_t below(std::uint64_t bound) { return ((next() >> 32) * bound) >> 32; }

  template <class T>
  void shuffle(std::span<T> items) {
    for (std::size_t left = items.size(); left > 1; --left) std::swap(items[left - 1], items[below(left)]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace marginloom
