// Names of features, and hashes of the values that they are made of: what templates of arcs and of states share.
//
// The name of a feature is its template's number among its kind, a colon, and the values of the template's atoms,
// separated by the character 0x1F, which in a value is written as 0x1E and 1, and 0x1E as 0x1E and 0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "features/atom_reader.hpp"
#include "features/templates.hpp"

namespace marginloom {

using FeatureKey = std::uint64_t;

constexpr char value_separator = '\x1F';
constexpr std::string_view no_word = "<none>";  // where a place has none
constexpr std::array<std::string_view, 8> distances{"0", "1", "2", "3", "4", "5", "6-10", "11+"};

// A hash of a number, and of a text, the same on every machine; of a text it is never 0.
[[nodiscard]] std::uint64_t mixed(std::uint64_t x);
[[nodiscard]] std::uint64_t text_hash(std::string_view text);

// The place among `distances` of that between two words.
[[nodiscard]] inline std::size_t distance_class(std::size_t one, std::size_t other) {
  const std::size_t distance = one > other ? one - other : other - one;
  return distance <= 5 ? distance : distance <= 10 ? 6 : 7;
}

// Appends the value of an atom at a token, which must have one.
void append_name_value(const AtomReader& reader, const Atom& atom, std::size_t token, std::string& name);

// Reads the number of a template and its values; throws std::invalid_argument if there can be no such name.
[[nodiscard]] std::vector<std::string> values_in(std::string_view name, const std::vector<Template>& templates,
                                                 std::size_t& line);
// The template with the values in their places: "pos[h]=VERB direction=left".
[[nodiscard]] std::string described(std::string_view name, const std::vector<Template>& templates);

}  // namespace marginloom
