#include "features/letters.hpp"

#include <algorithm>
#include <array>

namespace marginloom {
namespace {

using CodePoint = std::uint32_t;

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

CodePoint decode(std::string_view letter) {
  const auto byte = [&](std::size_t k) { return static_cast<CodePoint>(static_cast<unsigned char>(letter[k])); };
  switch (letter.size()) {
    case 2:
      return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    case 3:
      return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    default:
      return byte(0);
  }
}

void append(CodePoint point, std::string& result) {
  if (point < 0x80) {
    result += static_cast<char>(point);
  } else if (point < 0x800) {
    result += static_cast<char>(0xC0 | point >> 6);
    result += static_cast<char>(0x80 | (point & 0x3F));
  } else {
    result += static_cast<char>(0xE0 | point >> 12);
    result += static_cast<char>(0x80 | (point >> 6 & 0x3F));
    result += static_cast<char>(0x80 | (point & 0x3F));
  }
}

// Capitals first .. last become small by adding `shift`; a shift of 0 marks ranges in which capitals and small
// letters alternate, the capitals having the parity of `first`.
struct CaseRange {
  CodePoint first;
  CodePoint last;
  int shift;
};

constexpr std::array case_ranges{
    CaseRange{0x41, 0x5A, 32},    CaseRange{0xC0, 0xD6, 32},     CaseRange{0xD8, 0xDE, 32},
    CaseRange{0x100, 0x12F, 0},   CaseRange{0x132, 0x137, 0},    CaseRange{0x139, 0x148, 0},
    CaseRange{0x14A, 0x177, 0},   CaseRange{0x178, 0x178, -121}, CaseRange{0x179, 0x17E, 0},
    CaseRange{0x1CD, 0x1DC, 0},   CaseRange{0x1DE, 0x1EF, 0},    CaseRange{0x1F8, 0x21F, 0},
    CaseRange{0x222, 0x233, 0},   CaseRange{0x386, 0x386, 38},   CaseRange{0x388, 0x38A, 37},
    CaseRange{0x38C, 0x38C, 64},  CaseRange{0x38E, 0x38F, 63},   CaseRange{0x391, 0x3A1, 32},
    CaseRange{0x3A3, 0x3AB, 32},  CaseRange{0x400, 0x40F, 80},   CaseRange{0x410, 0x42F, 32},
    CaseRange{0x460, 0x481, 0},   CaseRange{0x48A, 0x4BF, 0},    CaseRange{0x4C1, 0x4CE, 0},
    CaseRange{0x4D0, 0x52F, 0},   CaseRange{0x531, 0x556, 48},   CaseRange{0x1E00, 0x1E95, 0},
    CaseRange{0x1EA0, 0x1EFF, 0},
};

CodePoint lower(CodePoint point) {
  const auto* range = std::ranges::find_if(case_ranges, [point](const CaseRange& r) { return point <= r.last; });
  if (range == case_ranges.end() || point < range->first) return point;
  if (range->shift != 0) return point + static_cast<CodePoint>(range->shift);
  return (point - range->first) % 2 == 0 ? point + 1 : point;
}

char shape_of(std::string_view letter) {
  if (letter.size() > 1) {
    const CodePoint point = decode(letter);
    return letter.size() < 4 && lower(point) != point ? 'X' : 'x';
  }
  const char c = letter[0];
  if (c >= 'A' && c <= 'Z') return 'X';
  if (c >= 'a' && c <= 'z') return 'x';
  if (c >= '0' && c <= '9') return 'd';
  return static_cast<unsigned char>(c) < 0x80 ? c : 'x';
}

}  // namespace

std::size_t next_letter(std::string_view text, std::size_t position) {
  const auto lead = static_cast<unsigned char>(text[position]);
  const std::size_t wanted = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  std::size_t end = position + 1;
  while (end < text.size() && end < position + wanted && is_continuation(text[end])) ++end;
  return end == position + wanted ? end : position + 1;
}

std::string_view first_letters(std::string_view text, std::size_t count) {
  std::size_t end = 0;
  for (; count > 0; --count) {
    if (end >= text.size()) return {};
    end = next_letter(text, end);
  }
  return text.substr(0, end);
}

std::string_view last_letters(std::string_view text, std::size_t count) {
  std::size_t begin = text.size();
  for (; count > 0; --count) {
    if (begin == 0) return {};
    --begin;
    while (begin > 0 && is_continuation(text[begin])) --begin;
  }
  return text.substr(begin);
}

void append_lower(std::string_view text, std::string& result) {
  for (std::size_t position = 0; position < text.size();) {
    const std::size_t end = next_letter(text, position);
    const std::string_view letter = text.substr(position, end - position);
    if (letter.size() == 1) {
      const char c = letter[0];
      result += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    } else if (letter.size() == 4) {
      result += letter;
    } else {
      append(lower(decode(letter)), result);
    }
    position = end;
  }
}

void append_shape(std::string_view text, bool short_form, std::string& result) {
  char last = 0;
  for (std::size_t position = 0; position < text.size();) {
    const std::size_t end = next_letter(text, position);
    const char shape = shape_of(text.substr(position, end - position));
    if (!short_form || shape != last) result += shape;
    last = shape;
    position = end;
  }
}

}  // namespace marginloom
