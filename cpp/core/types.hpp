// The few types that every part of the core speaks in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace marginloom {

using WeightIndex = std::uint32_t;  // up to 2^32 weights (32 GiB of them); tasks refuse more
using WeightView = std::span<const double>;
using ByteView = std::span<const std::uint8_t>;

}  // namespace marginloom
