// Strings numbered 0, 1, 2, ... in the order in which they were first seen.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace marginloom {

// A hash of a string, the same on every machine.
[[nodiscard]] std::uint32_t key_hash(std::string_view text);

// All strings lie in one buffer, so that a vocabulary is two arrays in a file. Lookups are thread-safe while
// nothing is added.
class Vocabulary {
 public:
  static constexpr std::uint32_t unknown = 0xFFFFFFFF;

  Vocabulary() = default;

  // From names()/offsets(); throws std::invalid_argument unless offsets ascend from 0 to the end and no name
  // is there twice.
  Vocabulary(std::string text, std::vector<std::uint64_t> offsets);

  [[nodiscard]] std::size_t size() const { return offsets_.size() - 1; }
  [[nodiscard]] std::uint32_t find(std::string_view name) const;  // `unknown` if it is not there
  std::uint32_t intern(std::string_view name);                    // its number, new if it was not there
  [[nodiscard]] std::string_view name(std::size_t id) const {
    return std::string_view(text_).substr(offsets_[id], offsets_[id + 1] - offsets_[id]);
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::vector<std::uint64_t>& offsets() const { return offsets_; }

  // The vocabulary of the chosen names, numbered in the order of `ids`.
  [[nodiscard]] Vocabulary selected(std::span<const std::uint32_t> ids) const;

 private:
  // Where the name is, or the empty slot where it belongs.
  [[nodiscard]] std::size_t slot_of(std::string_view name, std::uint32_t hash) const;
  void grow();

  std::string text_;
  std::vector<std::uint64_t> offsets_{0};
  struct Slot {
    std::uint32_t id = unknown;
    std::uint32_t hash = 0;
  };
  std::vector<Slot> slots_;  // open addressing; a power of two, at most half full
};

}  // namespace marginloom
