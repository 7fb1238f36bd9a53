// The greatest of many numbers, best first: the states that a beam keeps.
//
// Most numbers are ruled out by a threshold that enough of them reach, without comparing one with another. What is left
// is mostly few: then the place of each is the number of those above it, which takes no branches.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace marginloom {

class Leading {
 public:
  // The places of at least the `wanted` greatest values, all if there are no more, in order; `precedes` says which of
  // two places with equal values comes first. Minus infinity is never among them, nor NaN beside numbers. With `sure`
  // so many are found among the first ones alone, if there are so many: for a caller that will not need all of the
  // others. Either number is a multiple of row_alignment. What is returned holds until the next call.
  template <class Precedes>
  std::span<const std::uint32_t> find(const double* values, std::size_t count, std::size_t wanted, Precedes precedes,
                                      std::size_t sure) {
    list(values, count, wanted, sure);
    if (!rank(values)) {
      std::erase_if(places_, [&](std::uint32_t place) { return std::isnan(values[place]); });
      std::ranges::sort(places_, [&](std::uint32_t one, std::uint32_t other) {
        return values[one] != values[other] ? values[one] > values[other] : precedes(one, other);
      });
    }
    return places_;
  }

  // Memory for each of the values.
  static constexpr std::size_t bytes_each = sizeof(std::uint32_t) + sizeof(double);

 private:
  void list(const double* values, std::size_t count, std::size_t wanted, std::size_t sure);
  [[nodiscard]] double reached_by_many(const double* values, std::size_t count, std::size_t wanted);
  [[nodiscard]] bool rank(const double* values);

  std::vector<std::uint32_t> places_;
  std::vector<double> greatest_;
};

}  // namespace marginloom
