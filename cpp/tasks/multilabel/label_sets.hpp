// Sets of labels as bits, label l being bit l % 8 of byte l / 8: what multilabel outputs are encoded as.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/types.hpp"

namespace marginloom {

[[nodiscard]] constexpr std::size_t label_set_bytes(std::size_t labels) {
  return (labels + 7) / 8;
}

[[nodiscard]] inline bool has_label(ByteView set, std::size_t label) {
  return (set[label / 8] >> (label % 8)) & 1;
}

inline void put_label(std::span<std::uint8_t> set, std::size_t label, bool present) {
  const auto bit = static_cast<std::uint8_t>(1u << (label % 8));
  if (present) {
    set[label / 8] |= bit;
  } else {
    set[label / 8] &= static_cast<std::uint8_t>(~bit);
  }
}

// Eight bytes of a set from byte `first` on as one number, bytes beyond the end as 0.
[[nodiscard]] inline std::uint64_t label_word(ByteView set, std::size_t first) {
  std::uint64_t word = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&word, set.data() + first, set.size() - first < 8 ? set.size() - first : 8);
  } else {
    for (std::size_t k = 0; k < 8 && first + k < set.size(); ++k) {
      word |= static_cast<std::uint64_t>(set[first + k]) << (8 * k);
    }
  }
  return word;
}

// Calls function(label, whether it is in `a`) for the labels that are in one of two sets of the same size, ascending.
template <class Function>
void visit_differing_labels(ByteView a, ByteView b, Function function) {
  for (std::size_t first = 0; first < a.size(); first += 8) {
    const std::uint64_t in_a = label_word(a, first);
    for (std::uint64_t left = in_a ^ label_word(b, first); left != 0; left &= left - 1) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(left));
      function(8 * first + bit, ((in_a >> bit) & 1) != 0);
    }
  }
}

}  // namespace marginloom
