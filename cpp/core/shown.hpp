// What error messages show of a file's text.
#pragma once

#include <string>
#include <string_view>

namespace marginloom {

// A field as it is, or its beginning if it is long; never half a letter of UTF-8, which would not be text any more.
[[nodiscard]] inline std::string shown(std::string_view field) {
  constexpr std::size_t most = 100;
  if (field.size() <= most) return std::string(field);
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(field[end]) & 0xC0) == 0x80) --end;
  return std::string(field.substr(0, end)) + "...";
}

}  // namespace marginloom
