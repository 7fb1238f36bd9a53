#include "core/working_set.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace marginloom {

bool WorkingSet::contains(std::uint64_t key) const {
  return std::ranges::any_of(members_, [key](const Member& member) { return member.key == key; });
}

WorkingSet::Member& WorkingSet::append(const Candidate& candidate) {
  constexpr std::size_t limit = std::numeric_limits<std::uint32_t>::max();
  if (entries_.size() + candidate.difference.size() > limit || outputs_.size() + candidate.output.size() > limit) {
    throw std::length_error("the working set of one example exceeds 2^32 entries");
  }
  members_.push_back(
      {0, candidate.loss, candidate.squared_norm, candidate.key, static_cast<std::uint32_t>(entries_.size()),
       static_cast<std::uint32_t>(candidate.difference.size()), static_cast<std::uint32_t>(outputs_.size()),
       static_cast<std::uint32_t>(candidate.output.size())});
  entries_.insert(entries_.end(), candidate.difference.begin(), candidate.difference.end());
  outputs_.insert(outputs_.end(), candidate.output.begin(), candidate.output.end());
  return members_.back();
}

void WorkingSet::put_first(const Candidate& candidate) {
  const auto known = std::ranges::find_if(members_, [&](const Member& member) { return member.key == candidate.key; });
  if (known != members_.end()) {
    std::swap(members_.front(), *known);
  } else {
    append(candidate);
    std::swap(members_.front(), members_.back());
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
}

// Closes the gaps that the member leaves in the arrays of entries and outputs.
void WorkingSet::release(const Member& gone) {
  const Member hole = gone;
  const auto entry = entries_.begin() + hole.first_entry;
  const auto byte = outputs_.begin() + hole.first_byte;
  entries_.erase(entry, entry + hole.entry_count);
  outputs_.erase(byte, byte + hole.byte_count);
  for (Member& member : members_) {
    if (member.first_entry > hole.first_entry) member.first_entry -= hole.entry_count;
    if (member.first_byte > hole.first_byte) member.first_byte -= hole.byte_count;
  }
}

double WorkingSet::dual_sum() const {
  double sum = 0;
  for (const Member& member : members_) sum += member.dual;
  return sum;
}

std::size_t WorkingSet::memory() const {
  return members_.capacity() * sizeof(Member) + entries_.capacity() * sizeof(Entry) + outputs_.capacity();
}

}  // namespace marginloom
