// Strings numbered 0, 1, 2, ... in the order in which they were first seen.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace marginloom {

// Between the names of a feature that is nested, such as {"a": {"b": 2.0}}: a byte that no text in UTF-8 has, so that
// no other feature has the same name.
constexpr char path_separator = '\xFF';

// A hash of a string, the same on every machine.
[[nodiscard]] std::uint32_t key_hash(std::string_view text);

// All strings lie in one buffer, so that a vocabulary is two arrays in a file. Lookups are thread-safe while
// nothing is added.
class Vocabulary {
 public:
  static constexpr std::uint32_t unknown = 0xFFFFFFFF;

  Vocabulary() = default;

  // Of text() and offsets() that lie elsewhere, such as in a file that is mapped: `owner` keeps them there, and they
  // are not copied unless a name is added. Throws std::invalid_argument unless offsets ascend from 0 to the end and no
  // name is there twice.
  Vocabulary(std::string_view text, std::span<const std::uint64_t> offsets, std::shared_ptr<const void> owner);

  [[nodiscard]] std::size_t size() const { return offsets().size() - 1; }
  [[nodiscard]] std::uint32_t find(std::string_view name) const;  // `unknown` if it is not there
  std::uint32_t intern(std::string_view name);                    // its number, new if it was not there

  // find() for many names, into as many `ids`: sooner than one by one, since memory is waited for once for all.
  void find_all(std::span<const std::string_view> names, std::span<std::uint32_t> ids) const;

  [[nodiscard]] std::string_view name(std::size_t id) const {
    return text().substr(offsets()[id], offsets()[id + 1] - offsets()[id]);
  }
  [[nodiscard]] std::string_view text() const {
    return external_offsets_.empty() ? std::string_view(text_) : external_text_;
  }
  [[nodiscard]] std::span<const std::uint64_t> offsets() const {
    return external_offsets_.empty() ? std::span<const std::uint64_t>(offsets_) : external_offsets_;
  }

  // The same names with every path_separator replaced; throws std::invalid_argument if two become the same.
  [[nodiscard]] Vocabulary with_separators_as(char shown) const;

  // The vocabulary of the chosen names, numbered in the order of `ids`.
  [[nodiscard]] Vocabulary selected(std::span<const std::uint32_t> ids) const;

 private:
  // Where the name is, or the empty slot where it belongs.
  [[nodiscard]] std::size_t slot_of(std::string_view name, std::uint32_t hash) const;
  void reserve_slots(std::size_t names);
  void copy_external();

  std::string text_;
  std::vector<std::uint64_t> offsets_{0};
  std::string_view external_text_;  // instead of the two above if there are external offsets
  std::span<const std::uint64_t> external_offsets_;
  std::shared_ptr<const void> owner_;
  struct Slot {
    std::uint32_t id = unknown;
    std::uint32_t hash = 0;
  };
  std::vector<Slot> slots_;  // open addressing; a power of two, at most half full
};

}  // namespace marginloom
