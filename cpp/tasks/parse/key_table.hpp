// Numbers of feature keys: by a table of those that training saw, or by the upper bits of the key itself.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "tasks/parse/arc_templates.hpp"

namespace marginloom {

// Finds the number of a key by one look at memory, mostly. A slot holds the lower bits of a key and its number; where
// the slot is says the upper bits.
class KeyTable {
 public:
  static constexpr std::uint32_t unknown = 0xFFFFFFFF;

  KeyTable() = default;
  // Key k has the number k. Throws std::invalid_argument if one is there twice.
  explicit KeyTable(std::span<const FeatureKey> keys) {
    number_bits_ = static_cast<int>(std::bit_width(keys.size()));
    const int slot_bits = number_bits_ + 1;
    shift_ = 64 - slot_bits;
    slots_.assign(std::size_t{1} << slot_bits, empty());
    for (std::size_t k = 0; k < keys.size(); ++k) {
      std::size_t place = keys[k] >> shift_;
      for (; slots_[place] != empty(); place = next(place)) {
        if ((slots_[place] ^ keys[k] << number_bits_) >> number_bits_ == 0) {
          throw std::invalid_argument("a feature is there twice");
        }
      }
      slots_[place] = keys[k] << number_bits_ | k;
    }
  }

  [[nodiscard]] std::uint32_t find(FeatureKey key) const {
    for (std::size_t place = key >> shift_;; place = next(place)) {
      const std::uint64_t slot = slots_[place];
      if (slot == empty()) return unknown;
      if ((slot ^ key << number_bits_) >> number_bits_ == 0) return static_cast<std::uint32_t>(slot & empty());
    }
  }

 private:
  // No number has all of its bits set.
  [[nodiscard]] std::uint64_t empty() const { return (std::uint64_t{1} << number_bits_) - 1; }
  [[nodiscard]] std::size_t next(std::size_t place) const { return (place + 1) & (slots_.size() - 1); }

  int number_bits_ = 1;
  int shift_ = 62;
  std::vector<std::uint64_t> slots_ = std::vector<std::uint64_t>(4, 1);
};

// How features of one kind are numbered.
class FeatureNumbers {
 public:
  FeatureNumbers() = default;
  explicit FeatureNumbers(std::span<const FeatureKey> keys) : size_(keys.size()), table_(keys) {}
  explicit FeatureNumbers(int hash_bits) : size_(std::size_t{1} << hash_bits), hash_bits_(hash_bits) {
    if (hash_bits < 1 || hash_bits > 31) throw std::invalid_argument("hashing takes 1 to 31 bits");
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool hashes() const { return hash_bits_ > 0; }
  [[nodiscard]] std::uint32_t find(FeatureKey key) const {
    return hashes() ? static_cast<std::uint32_t>(key >> (64 - hash_bits_)) : table_.find(key);
  }
  // Calls call(weight), weight(w, key) being that of a feature among those of its kind, 0 if it is unknown, the one or
  // the other way: for loops that would ask for every feature.
  template <class Call>
  void with_weights(Call call) const {
    if (hashes()) {
      call([shift = 64 - hash_bits_](const double* w, FeatureKey key) { return w[key >> shift]; });
    } else {
      call([this](const double* w, FeatureKey key) {
        const std::uint32_t number = table_.find(key);
        return number == KeyTable::unknown ? 0 : w[number];
      });
    }
  }

 private:
  std::size_t size_ = 0;
  int hash_bits_ = 0;
  KeyTable table_;
};

}  // namespace marginloom
