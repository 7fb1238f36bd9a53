// Candidates of one example with their duals, copied so that another thread than the owner of the block can improve
// them: what a step needs lies together, and the block itself stays where it is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/candidate.hpp"
#include "core/prefetch.hpp"
#include "core/working_set.hpp"
#include "learners/block_workspace.hpp"

namespace marginloom {

struct SentBlock {
  struct Member {
    double dual;
    double loss;
    double squared_norm;
    std::span<const Entry> difference;  // empty if it is implicit
    ByteView output;
  };

  double dual_sum = 0;           // of all members of the block, sent or not
  double largest_violation = 0;  // of the members, after they were improved; for the hinge
  std::vector<double> products;  // of all pairs of differences, where the members are solved for together

  void clear() {
    members_.clear();
    entries_.clear();
    outputs_.clear();
    products.clear();
    largest_violation = 0;
  }
  void add(const WorkingSet::Member& member, std::span<const Entry> difference, ByteView output) {
    members_.push_back({member.dual, member.loss, member.squared_norm, entries_.size(), difference.size(),
                        outputs_.size(), output.size()});
    entries_.insert(entries_.end(), difference.begin(), difference.end());
    outputs_.insert(outputs_.end(), output.begin(), output.end());
  }
  [[nodiscard]] std::size_t size() const { return members_.size(); }
  [[nodiscard]] double dual(std::size_t j) const { return members_[j].dual; }
  void set_dual(std::size_t j, double dual) { members_[j].dual = dual; }
  [[nodiscard]] Member operator[](std::size_t j) const {
    const Stored& member = members_[j];
    return {member.dual, member.loss, member.squared_norm,
            std::span(entries_).subspan(member.first_entry, member.entries),
            ByteView(outputs_).subspan(member.first_byte, member.bytes)};
  }
  // Where a solution of the whole block expects its members.
  void lay_out(BlockWorkspace& work) const {
    work.duals.clear();
    work.outputs.clear();
    work.differences.clear();
    for (std::size_t j = 0; j < size(); ++j) {
      const Member member = (*this)[j];
      work.duals.push_back(member.dual);
      work.outputs.push_back(member.output);
      work.differences.push_back(member.difference);
    }
  }

  // Fetches the block itself; and the weights that it touches, once it is here.
  void prefetch() const {
    prefetch_bytes(members_.data(), members_.size() * sizeof(Stored));
    prefetch_bytes(entries_.data(), entries_.size() * sizeof(Entry));
  }
  void prefetch_weights(const double* weights) const {
    static constexpr std::size_t most = 1024;
    for (const Entry& entry : std::span(entries_).first(std::min(entries_.size(), most))) {
      prefetch_line(weights + entry.index);
    }
  }

 private:
  struct Stored {
    double dual;
    double loss;
    double squared_norm;
    std::size_t first_entry;
    std::size_t entries;
    std::size_t first_byte;
    std::size_t bytes;
  };
  std::vector<Stored> members_;
  std::vector<Entry> entries_;
  std::vector<std::uint8_t> outputs_;
};

}  // namespace marginloom
