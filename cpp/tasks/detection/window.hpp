// The output of the detection task: a labelled window, and its encoding in bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/types.hpp"

namespace marginloom {

struct Window {
  std::uint32_t label = 0;
  std::uint32_t size = 0;  // its number
  std::uint32_t top = 0;
  std::uint32_t left = 0;
  bool operator==(const Window&) const = default;
};

struct WindowSize {
  std::uint32_t height = 0;
  std::uint32_t width = 0;
};

// Rows top .. bottom - 1 and columns left .. right - 1.
struct Area {
  std::uint32_t top = 0, bottom = 0, left = 0, right = 0;
  [[nodiscard]] bool empty() const { return top >= bottom || left >= right; }
};

[[nodiscard]] inline Area intersection(const Area& a, const Area& b) {
  return {std::max(a.top, b.top), std::min(a.bottom, b.bottom), std::max(a.left, b.left), std::min(a.right, b.right)};
}

// The part of a window that an area of the image covers, counted from the window's corner.
[[nodiscard]] inline Area covered(const Window& window, const WindowSize& size, const Area& area) {
  const auto within = [](std::uint32_t edge, std::uint32_t start, std::uint32_t length) {
    return std::min(edge > start ? edge - start : 0, length);
  };
  return {within(area.top, window.top, size.height), within(area.bottom, window.top, size.height),
          within(area.left, window.left, size.width), within(area.right, window.left, size.width)};
}

// An output in bytes: four numbers of 16 bits.
inline constexpr std::size_t window_bytes = 8;

[[nodiscard]] inline std::array<std::uint8_t, window_bytes> encode_window(const Window& window) {
  std::array<std::uint8_t, window_bytes> bytes{};
  const std::uint32_t numbers[] = {window.label, window.size, window.top, window.left};
  for (std::size_t k = 0; k < 4; ++k) {
    bytes[2 * k] = static_cast<std::uint8_t>(numbers[k] & 255);
    bytes[2 * k + 1] = static_cast<std::uint8_t>(numbers[k] >> 8);
  }
  return bytes;
}

[[nodiscard]] inline Window decode_window(ByteView output) {
  const auto number = [&](std::size_t k) { return output[2 * k] + 256U * output[2 * k + 1]; };
  return {number(0), number(1), number(2), number(3)};
}

}  // namespace marginloom
