// The candidates that a dual learner keeps for one example, each with its dual variable.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/candidate.hpp"
#include "core/prefetch.hpp"

namespace marginloom {

// Members, their differences and their outputs lie in three contiguous arrays with little room to spare: one
// visit of an example reads memory in order. Outputs of a few bytes lie in their members. A member may do without its
// stored difference, which the task rebuilds from the output.
class WorkingSet {
 public:
  struct Member {
    static constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();

    double dual = 0;
    double loss = 0;
    double squared_norm = 0;
    std::uint64_t key = 0;
    std::uint32_t first_entry = nowhere;
    std::uint32_t entry_count = 0;  // also while the difference is not stored
    std::uint32_t first_byte = 0;   // or the output itself, if it is no longer than this
    std::uint32_t byte_count = 0;

    [[nodiscard]] bool stored() const { return first_entry != nowhere; }
    [[nodiscard]] bool holds_output() const { return byte_count <= sizeof first_byte; }
  };

  [[nodiscard]] bool empty() const { return members_.empty(); }
  [[nodiscard]] std::size_t size() const { return members_.size(); }
  [[nodiscard]] std::span<Member> members() { return members_; }
  [[nodiscard]] std::span<const Member> members() const { return members_; }
  // Requires that it is stored.
  [[nodiscard]] std::span<const Entry> difference(const Member& member) const {
    return std::span(entries_).subspan(member.first_entry, member.entry_count);
  }
  // Of a member of this set, until the set changes.
  [[nodiscard]] ByteView output(const Member& member) const {
    if (member.holds_output()) return {reinterpret_cast<const std::uint8_t*>(&member.first_byte), member.byte_count};
    return ByteView(outputs_).subspan(member.first_byte, member.byte_count);
  }

  [[nodiscard]] bool contains(std::uint64_t key) const;

  // Adds a member with a dual of 0 at the end, with its difference or without. Requires that the set does not
  // contain the candidate's key.
  Member& append(const Candidate& candidate, bool store = true);

  // Moves the candidate's member to the front, appending it first if it is new; the others keep their order.
  void put_first(const Candidate& candidate, bool store = true);

  // Removes the members whose dual is 0; the others keep their order.
  void drop_zero_duals();

  // Removes all members but the first ones.
  void keep_first(std::size_t count);

  // Stores the difference of a member that does without.
  void store_difference(Member& member, std::span<const Entry> difference);

  // Forgets all stored differences.
  void drop_differences();

  // Bytes that appending the candidate would at least take.
  [[nodiscard]] static std::size_t memory_of(const Candidate& candidate) {
    const bool in_member = candidate.output.size() <= sizeof Member::first_byte;
    return sizeof(Member) + candidate.difference.size_bytes() + (in_member ? 0 : candidate.output.size());
  }

  // Asks for the memory that a visit reads, so that it has arrived when the visit comes.
  void prefetch() const {
    prefetch_bytes(members_.data(), members_.size() * sizeof(Member));
    prefetch_bytes(entries_.data(), entries_.size() * sizeof(Entry));
    if (entries_.empty()) prefetch_bytes(outputs_.data(), outputs_.size());
  }

  struct Sums {
    double duals = 0;
    double losses = 0;  // each times its dual
  };
  [[nodiscard]] Sums sums() const;
  [[nodiscard]] bool has_zero_duals() const {
    return std::ranges::any_of(members_, [](const Member& member) { return member.dual == 0; });
  }
  [[nodiscard]] std::size_t memory() const;  // bytes

 private:
  void release(const Member& member);

  std::vector<Member> members_;
  std::vector<Entry> entries_;
  std::vector<std::uint8_t> outputs_;
};

}  // namespace marginloom
