#include "features/vocabulary.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "core/prefetch.hpp"
#include "core/shown.hpp"

namespace marginloom {
namespace {

void check_size(std::size_t names) {
  if (names > Vocabulary::unknown) throw std::length_error("a vocabulary holds at most 4,294,967,295 names");
}

// Up to eight bytes as a number, zeros after them. Most names are that short: a call of memcpy would take longer than
// the rest of the hash.
std::uint64_t word_of(const char* bytes, std::size_t count) {
  std::uint64_t word = 0;
  std::size_t place = 0;
  const auto take = [&](auto part) {
    std::memcpy(&part, bytes + place, sizeof part);
    word |= static_cast<std::uint64_t>(part) << (8 * place);
    place += sizeof part;
  };
  if (count >= 8) {
    take(std::uint64_t{});
    return word;
  }
  if (count & 4) take(std::uint32_t{});
  if (count & 2) take(std::uint16_t{});
  if (count & 1) take(std::uint8_t{});
  return word;
}

}  // namespace

std::uint32_t key_hash(std::string_view text) {
  std::uint64_t hash = 0x9E3779B97F4A7C15ULL + text.size();
  for (std::size_t begin = 0; begin < text.size(); begin += 8) {
    hash = (hash ^ word_of(text.data() + begin, text.size() - begin)) * 0xD6E8FEB86659FD93ULL;
    hash ^= hash >> 32;
  }
  return static_cast<std::uint32_t>(hash ^ (hash >> 15));
}

Vocabulary::Vocabulary(std::string_view text, std::span<const std::uint64_t> offsets, std::shared_ptr<const void> owner)
    : external_text_(text), external_offsets_(offsets), owner_(std::move(owner)) {
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

void Vocabulary::find_all(std::span<const std::string_view> names, std::span<std::uint32_t> ids) const {
  if (slots_.empty()) {
    std::ranges::fill(ids, unknown);
    return;
  }
  constexpr std::size_t most = 32;
  const std::size_t mask = slots_.size() - 1;
  const std::span<const std::uint64_t> bounds = offsets();
  std::array<std::uint32_t, most> hashes;
  for (std::size_t begin = 0; begin < names.size(); begin += most) {
    const auto batch = names.subspan(begin, std::min(most, names.size() - begin));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      hashes[i] = key_hash(batch[i]);
      prefetch_line(&slots_[hashes[i] & mask]);
    }
    // A slot with another hash is rare, and then only costs its wait.
    const auto first_slot = [&](std::size_t i) { return slots_[hashes[i] & mask]; };
    const auto is_likely = [&](std::size_t i) {
      return first_slot(i).hash == hashes[i] && first_slot(i).id != unknown;
    };
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (is_likely(i)) prefetch_line(&bounds[first_slot(i).id]);
    }
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (is_likely(i)) prefetch_line(text().data() + bounds[first_slot(i).id]);
    }
    for (std::size_t i = 0; i < batch.size(); ++i) ids[begin + i] = slots_[slot_of(batch[i], hashes[i])].id;
  }
}

std::uint32_t Vocabulary::intern(std::string_view wanted) {
  reserve_slots(size() + 1);
  const std::uint32_t hash = key_hash(wanted);
  Slot& slot = slots_[slot_of(wanted, hash)];
  if (slot.id == unknown) {
    check_size(size() + 1);
    slot = {static_cast<std::uint32_t>(size()), hash};
    copy_external();
    text_.append(wanted);
    offsets_.push_back(text_.size());
  }
  return slot.id;
}

void Vocabulary::copy_external() {
  if (external_offsets_.empty()) return;
  text_ = external_text_;
  offsets_.assign(external_offsets_.begin(), external_offsets_.end());
  external_offsets_ = {};
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

Vocabulary Vocabulary::with_separators_as(char shown_separator) const {
  Vocabulary result;
  std::string flat;
  for (std::size_t id = 0; id < size(); ++id) {
    flat = name(id);
    std::ranges::replace(flat, path_separator, shown_separator);
    if (result.intern(flat) != id)
      throw std::invalid_argument("two different features are called '" + shown(flat) + "'");
  }
  return result;
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
