// Letters of UTF-8 text, as far as features of words need them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace marginloom {

// Where the letter that begins at `position` ends. Broken UTF-8 counts as letters of one byte.
[[nodiscard]] std::size_t next_letter(std::string_view text, std::size_t position);

// The first (last) `count` letters; empty if the text has fewer.
[[nodiscard]] std::string_view first_letters(std::string_view text, std::size_t count);
[[nodiscard]] std::string_view last_letters(std::string_view text, std::size_t count);

// Appends the text in lower case: Latin, Greek, Cyrillic and Armenian letters; everything else as it is.
void append_lower(std::string_view text, std::string& result);

// Appends X for every capital, x for every other letter, d for every digit, and other ASCII characters as they are;
// with `short_form`, runs of the same character are one.
void append_shape(std::string_view text, bool short_form, std::string& result);

}  // namespace marginloom
