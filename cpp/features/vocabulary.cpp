#include "features/vocabulary.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace marginloom {
std::uint32_t key_hash(std::string_view text) {
  std::uint64_t hash = 0x9E3779B97F4A7C15ULL + text.size();
  while (!text.empty()) {
    std::uint64_t word = 0;
    const std::size_t count = std::min(text.size(), sizeof word);
    std::memcpy(&word, text.data(), count);
    text.remove_prefix(count);
    hash = (hash ^ word) * 0xD6E8FEB86659FD93ULL;
    hash ^= hash >> 32;
  }
  return static_cast<std::uint32_t>(hash ^ (hash >> 15));
}

Vocabulary::Vocabulary(std::string text, std::vector<std::uint64_t> offsets) {
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != text.size() || !std::ranges::is_sorted(offsets)) {
    throw std::invalid_argument("the offsets of a vocabulary must ascend from 0 to the end of its text");
  }
  for (std::size_t id = 0; id + 1 < offsets.size(); ++id) {
    if (intern(std::string_view(text).substr(offsets[id], offsets[id + 1] - offsets[id])) != id) {
      throw std::invalid_argument("a vocabulary holds a name twice");
    }
  }
}

std::size_t Vocabulary::slot_of(std::string_view wanted, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  while (slots_[slot].id != unknown && (slots_[slot].hash != hash || name(slots_[slot].id) != wanted)) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

std::uint32_t Vocabulary::find(std::string_view wanted) const {
  return slots_.empty() ? unknown : slots_[slot_of(wanted, key_hash(wanted))].id;
}

std::uint32_t Vocabulary::intern(std::string_view wanted) {
  if (2 * (size() + 1) > slots_.size()) grow();
  const std::uint32_t hash = key_hash(wanted);
  Slot& slot = slots_[slot_of(wanted, hash)];
  if (slot.id == unknown) {
    if (size() >= unknown) throw std::length_error("a vocabulary holds at most 4,294,967,295 names");
    slot = {static_cast<std::uint32_t>(size()), hash};
    text_.append(wanted);
    offsets_.push_back(text_.size());
  }
  return slot.id;
}

void Vocabulary::grow() {
  std::vector<Slot> old(std::max<std::size_t>(64, 2 * slots_.size()));
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id == unknown) continue;
    std::size_t place = slot.hash & mask;
    while (slots_[place].id != unknown) place = (place + 1) & mask;
    slots_[place] = slot;
  }
}

Vocabulary Vocabulary::selected(std::span<const std::uint32_t> ids) const {
  Vocabulary result;
  for (const std::uint32_t id : ids) {
    if (id >= size()) throw std::invalid_argument("a number is beyond the vocabulary");
    result.intern(name(id));
  }
  if (result.size() != ids.size()) throw std::invalid_argument("a number was selected twice");
  return result;
}

}  // namespace marginloom
