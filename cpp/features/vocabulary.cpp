#include "features/vocabulary.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace marginloom {
namespace {

void check_size(std::size_t names) {
  if (names > Vocabulary::unknown) throw std::length_error("a vocabulary holds at most 4,294,967,295 names");
}

}  // namespace

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

Vocabulary::Vocabulary(std::string_view text, std::span<const std::uint64_t> offsets,
                       std::shared_ptr<const void> owner)
    : lent_text_(text), lent_offsets_(offsets), owner_(std::move(owner)) {
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != text.size() || !std::ranges::is_sorted(offsets)) {
    throw std::invalid_argument("the offsets of a vocabulary must ascend from 0 to the end of its text");
  }
  check_size(size());
  reserve_slots(size());
  for (std::size_t id = 0; id < size(); ++id) {
    const std::uint32_t hash = key_hash(name(id));
    Slot& slot = slots_[slot_of(name(id), hash)];
    if (slot.id != unknown) throw std::invalid_argument("a vocabulary holds a name twice");
    slot = {static_cast<std::uint32_t>(id), hash};
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
  reserve_slots(size() + 1);
  const std::uint32_t hash = key_hash(wanted);
  Slot& slot = slots_[slot_of(wanted, hash)];
  if (slot.id == unknown) {
    check_size(size() + 1);
    slot = {static_cast<std::uint32_t>(size()), hash};
    copy_lent();
    text_.append(wanted);
    offsets_.push_back(text_.size());
  }
  return slot.id;
}

void Vocabulary::copy_lent() {
  if (lent_offsets_.empty()) return;
  text_ = lent_text_;
  offsets_.assign(lent_offsets_.begin(), lent_offsets_.end());
  lent_offsets_ = {};
  owner_.reset();
}

void Vocabulary::reserve_slots(std::size_t names) {
  if (2 * names <= slots_.size()) return;
  std::vector<Slot> old(std::bit_ceil(std::max<std::size_t>(64, 2 * names)));
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
