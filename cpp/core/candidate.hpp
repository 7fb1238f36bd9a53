// A candidate is one wrong output of one example, as a learner sees it: a loss and a difference of feature
// vectors. Of a task with the capability `prefixes` it may be the beginning of an output, against a beginning of gold
// of as many steps.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/types.hpp"

namespace marginloom {

// One coordinate of phi(x, gold) - phi(x, y).
struct Entry {
  WeightIndex index;
  double value;
};

// Names an output within its example. Equal outputs have equal keys; 64 bits make a clash of two of the
// dozens of candidates that an example ever has a matter of 1 in 10^15.
[[nodiscard]] inline std::uint64_t output_key(ByteView output) {
  std::uint64_t hash = 0x9E3779B97F4A7C15ULL ^ output.size();
  for (const std::uint8_t byte : output) {
    hash = (hash ^ byte) * 0x100000001B3ULL;
    hash ^= hash >> 29;
  }
  return hash;
}

// A view: `output` and `difference` belong to whoever made the candidate and live until its next one.
struct Candidate {
  std::size_t example = 0;
  double loss = 0;          // Delta(gold, y); of a prefix, what no whole output that begins so can avoid; it may be 0
  double squared_norm = 0;  // |phi(gold) - phi(y)|^2
  std::uint64_t key = 0;    // output_key(output)
  ByteView output;
  std::span<const Entry> difference;  // sorted by index, each once
  bool implicit = false;              // no stored difference: the task evaluates it from `output`
};

// Receives candidates from a task's search.
class CandidateSink {
 public:
  virtual ~CandidateSink() = default;
  virtual void accept(const Candidate& candidate) = 0;
};

// Calls a function for each candidate.
template <class Function>
class FunctionSink final : public CandidateSink {
 public:
  explicit FunctionSink(Function function) : function_(std::move(function)) {}
  void accept(const Candidate& candidate) override { function_(candidate); }

 private:
  Function function_;
};

// Owns copies of candidates, in order; reused without allocating once it has grown.
class CandidateBatch final : public CandidateSink {
 public:
  void accept(const Candidate& candidate) override {
    candidates_.push_back({candidate, entries_.size(), outputs_.size()});
    entries_.insert(entries_.end(), candidate.difference.begin(), candidate.difference.end());
    outputs_.insert(outputs_.end(), candidate.output.begin(), candidate.output.end());
  }
  void clear() {
    candidates_.clear();
    entries_.clear();
    outputs_.clear();
  }
  [[nodiscard]] std::size_t size() const { return candidates_.size(); }
  [[nodiscard]] bool empty() const { return candidates_.empty(); }
  [[nodiscard]] Candidate operator[](std::size_t k) const {
    Candidate result = candidates_[k].candidate;
    result.difference = std::span(entries_).subspan(candidates_[k].first_entry, result.difference.size());
    result.output = ByteView(outputs_).subspan(candidates_[k].first_byte, result.output.size());
    return result;
  }

  // The candidates as bytes, for this machine's kind of machine, and back. from_bytes() throws std::invalid_argument if
  // they are not those of candidates of so many examples over so many weights. What an output means only its task
  // knows.
  [[nodiscard]] std::vector<std::uint8_t> to_bytes() const;
  [[nodiscard]] static CandidateBatch from_bytes(ByteView bytes, std::size_t examples, std::size_t dimension);

 private:
  struct Stored {
    Candidate candidate;
    std::size_t first_entry;
    std::size_t first_byte;
  };
  std::vector<Stored> candidates_;
  std::vector<Entry> entries_;
  std::vector<std::uint8_t> outputs_;
};

}  // namespace marginloom
