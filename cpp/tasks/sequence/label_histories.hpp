// Features of a token's label together with labels before it and with what is observed at the token: which combinations
// of these have a weight.
//
// An observation is what a template sees at a token besides labels, such as word[0]=the. A history are the labels that
// the template reads: the one before, the one before that, or both. A combination is an observation, a history and a
// label, and the combinations that there are have one weight each, in the order of the arrays. Those of an observation
// lie next to each other, sorted by history and label.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace marginloom {

using LabelIndex = std::uint16_t;

// The memory belongs to the caller and must outlive the table.
struct LabelHistoryData {
  std::span<const std::uint64_t> observations;  // observation o has those from observations[o] to before the next
  std::span<const std::uint32_t> histories;     // of combinations, see LabelHistories::history
  std::span<const LabelIndex> labels;
  std::size_t label_count = 0;
  bool triples = false;  // the last observation is one that every token has
};

class LabelHistories {
 public:
  // The labels that a history consists of.
  enum class Reach : std::uint8_t { before, before_that, both };

  struct Range {
    std::size_t first = 0;
    std::size_t last = 0;
  };

  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  // Throws std::invalid_argument if the data contradict themselves.
  explicit LabelHistories(const LabelHistoryData& data);

  [[nodiscard]] std::size_t size() const { return data_.labels.size(); }  // combinations
  [[nodiscard]] std::size_t label_count() const { return data_.label_count; }
  [[nodiscard]] std::size_t observation_count() const { return reach_.size(); }
  [[nodiscard]] bool has(Reach reach) const { return std::ranges::find(reach_, reach) != reach_.end(); }

  // The observation that every token has, whose histories are pairs of labels; none if there is none.
  [[nodiscard]] std::size_t of_every_token() const { return data_.triples ? observation_count() - 1 : none; }

  [[nodiscard]] Reach reach(std::size_t observation) const { return reach_[observation]; }

  // The history of `reach` where `before` is the label before and `before_that` the one before that. Whichever of both
  // does not count may be anything.
  [[nodiscard]] std::uint32_t history(Reach reach, std::size_t before_that, std::size_t before) const {
    const std::size_t any = data_.label_count;
    const std::size_t first = reach == Reach::before ? any : before_that;
    const std::size_t second = reach == Reach::before_that ? any : before;
    return static_cast<std::uint32_t>(first * (any + 1) + second);
  }

  // Of a combination.
  [[nodiscard]] std::size_t label(std::size_t combination) const { return data_.labels[combination]; }
  [[nodiscard]] std::size_t before(std::size_t combination) const {
    return data_.histories[combination] % (data_.label_count + 1);
  }
  [[nodiscard]] std::size_t before_that(std::size_t combination) const {
    return data_.histories[combination] / (data_.label_count + 1);
  }

  // The same as before(), for a history that is nothing else.
  [[nodiscard]] std::size_t only_before(std::size_t combination) const {
    return data_.histories[combination] - data_.label_count * (data_.label_count + 1);
  }

  [[nodiscard]] Range combinations(std::size_t observation) const {
    return {data_.observations[observation], data_.observations[observation + 1]};
  }
  [[nodiscard]] Range combinations(std::size_t observation, std::uint32_t history) const {
    if (observation == of_every_token() && !pairs_.empty()) return {pairs_[history], pairs_[history + 1]};
    return searched(observation, history);
  }

  // The combination's number, or none.
  [[nodiscard]] std::size_t find(std::size_t observation, std::uint32_t history, std::size_t label) const;

 private:
  void check() const;
  void note_reaches();
  void index_pairs();
  [[nodiscard]] Range searched(std::size_t observation, std::uint32_t history) const;

  LabelHistoryData data_;
  std::vector<Reach> reach_;          // of observations
  std::vector<std::uint32_t> pairs_;  // where the combinations of a pair of labels begin; empty if there are too many
};

}  // namespace marginloom
