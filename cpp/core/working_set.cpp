#include "core/working_set.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace marginloom {
namespace {

// Makes room for more items with an eighth to spare, instead of the half that a vector would leave unused.
template <class T>
void make_room(std::vector<T>& items, std::size_t more) {
  const std::size_t needed = items.size() + more;
  if (needed > items.capacity()) items.reserve(needed + needed / 8);
}

// Gives memory back once a quarter and a little more is unused.
template <class T>
void give_back(std::vector<T>& items) {
  constexpr std::size_t little = 128 / sizeof(T);
  if (items.capacity() <= items.size() + items.size() / 4 + little) return;
  std::vector<T> smaller;
  smaller.reserve(items.size() + items.size() / 8);
  smaller.assign(items.begin(), items.end());
  items.swap(smaller);
}

}  // namespace

bool WorkingSet::contains(std::uint64_t key) const {
  return std::ranges::any_of(members_, [key](const Member& member) { return member.key == key; });
}

WorkingSet::Member& WorkingSet::append(const Candidate& candidate, bool store) {
  if (entries_.size() + candidate.difference.size() >= Member::nowhere ||
      outputs_.size() + candidate.output.size() >= Member::nowhere) {
    throw std::length_error("the working set of one example exceeds 2^32 entries");
  }
  make_room(members_, 1);
  members_.push_back({0, candidate.loss, candidate.squared_norm, candidate.key, Member::nowhere,
                      static_cast<std::uint32_t>(candidate.difference.size()),
                      static_cast<std::uint32_t>(outputs_.size()),
                      static_cast<std::uint32_t>(candidate.output.size())});
  Member& member = members_.back();
  if (member.holds_output()) {
    if (!candidate.output.empty()) std::memcpy(&member.first_byte, candidate.output.data(), candidate.output.size());
  } else {
    make_room(outputs_, candidate.output.size());
    outputs_.insert(outputs_.end(), candidate.output.begin(), candidate.output.end());
  }
  if (store) store_difference(members_.back(), candidate.difference);
  return members_.back();
}

void WorkingSet::store_difference(Member& member, std::span<const Entry> difference) {
  if (entries_.size() + difference.size() >= Member::nowhere) return;
  make_room(entries_, difference.size());
  member.first_entry = static_cast<std::uint32_t>(entries_.size());
  entries_.insert(entries_.end(), difference.begin(), difference.end());
}

void WorkingSet::drop_differences() {
  for (Member& member : members_) member.first_entry = Member::nowhere;
  std::vector<Entry>().swap(entries_);
}

void WorkingSet::put_first(const Candidate& candidate, bool store) {
  auto known = std::ranges::find_if(members_, [&](const Member& member) { return member.key == candidate.key; });
  if (known == members_.end()) {
    append(candidate, store);
    known = members_.end() - 1;
  }
  std::rotate(members_.begin(), known, known + 1);
}

void WorkingSet::keep_first(std::size_t count) {
  while (members_.size() > count) {
    release(members_.back());
    members_.pop_back();
  }
}

void WorkingSet::drop_zero_duals() {
  std::size_t kept = 0;
  for (std::size_t j = 0; j < members_.size(); ++j) {
    if (members_[j].dual == 0) {
      release(members_[j]);
    } else {
      members_[kept++] = members_[j];
    }
  }
  members_.resize(kept);
  give_back(members_);
  give_back(entries_);
  give_back(outputs_);
}

// Closes the gaps that the member leaves in the arrays of entries and outputs.
void WorkingSet::release(const Member& gone) {
  const Member hole = gone;
  if (!hole.holds_output()) {
    const auto byte = outputs_.begin() + hole.first_byte;
    outputs_.erase(byte, byte + hole.byte_count);
  }
  if (hole.stored()) {
    const auto entry = entries_.begin() + hole.first_entry;
    entries_.erase(entry, entry + hole.entry_count);
  }
  for (Member& member : members_) {
    if (member.stored() && member.first_entry > hole.first_entry) member.first_entry -= hole.entry_count;
    if (hole.holds_output() || member.holds_output()) continue;
    if (member.first_byte > hole.first_byte) member.first_byte -= hole.byte_count;
  }
}

WorkingSet::Sums WorkingSet::sums() const {
  Sums result;
  for (const Member& member : members_) {
    result.duals += member.dual;
    result.losses += member.dual * member.loss;
  }
  return result;
}

std::size_t WorkingSet::memory() const {
  return members_.capacity() * sizeof(Member) + entries_.capacity() * sizeof(Entry) + outputs_.capacity();
}

}  // namespace marginloom
