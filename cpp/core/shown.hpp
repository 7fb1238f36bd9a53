// What error messages show of a file's text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace marginloom {

// A field, or its beginning if it is long; never half a letter of UTF-8, which would not be text any more. A NUL, at
// which the texts of C++'s exceptions end, is shown as Python writes it.
[[nodiscard]] inline std::string shown(std::string_view field) {
  constexpr std::size_t most = 100;
  std::size_t end = std::min(field.size(), most);
  while (end > 0 && end < field.size() && (static_cast<unsigned char>(field[end]) & 0xC0) == 0x80) --end;
  std::string text;
  for (const char letter : field.substr(0, end)) {
    if (letter == '\0') {
      text += "\\x00";
    } else {
      text += letter;
    }
  }
  return end < field.size() ? text + "..." : text;
}

}  // namespace marginloom
