// Scores of the actions of states of one sentence from the weights of their features.
//
// Views of states read few places, and the states of a beam agree in most of them: what a view says is summed once and
// kept. Weights of features that are not in a cache yet are asked for when a state is taken, and read later.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/aligned_vector.hpp"
#include "core/types.hpp"
#include "tasks/parse/state_features.hpp"

namespace marginloom {

using ActionScores = std::array<double, action_count>;

// Memory of one thread.
class StateScorer {
 public:
  explicit StateScorer(const StateFeatures& features);

  // Takes the words of a sentence.
  void load(const WordValues& words);
  [[nodiscard]] const StateParts& parts() const { return parts_; }
  [[nodiscard]] std::size_t length() const { return length_; }

  // Forgets what was kept: to be called with a new sentence and with new weights. Room for beams of so many states.
  void begin(WeightView w, std::size_t beam);

  // Takes a state whose scores are wanted, and where to write them: run() computes those of all states taken, the
  // sooner the longer ago they were.
  void add(const ParserState& state, ActionScores* scores);
  void run();

  // What the sums of a view take for a state of one step; others that are kept take a few megabytes together.
  static constexpr std::size_t bytes_per_view = 2 * action_stride * sizeof(double) + 8 * sizeof(std::uint32_t);

 private:
  using View = StateTemplates::View;

  // Where the sum of a view is kept for some values of its places.
  struct Kept {
    std::uint64_t values = 0;
    std::uint32_t owner = 0;  // generation and view
    std::uint32_t sum = 0;
  };
  // A sum to be made, of the next so many other sums and rows of weights.
  struct Pending {
    std::uint32_t place;
    std::uint32_t others;
    std::uint32_t rows;
  };

  [[nodiscard]] std::uint32_t sum_of(const View& view, const StatePlaces& places);
  [[nodiscard]] std::uint32_t new_sum(const View& view, const StatePlaces& places);
  void forget();
  void forget_wanted();

  const StateFeatures& features_;
  std::size_t length_ = 0;
  WeightView weights_;
  StateParts parts_;
  std::vector<Kept> kept_;
  int shift_ = 64;
  std::uint32_t generation_ = 0;
  AlignedVector<double> sums_;  // rows of action_stride
  std::uint32_t sum_count_ = 0;
  std::vector<Pending> pending_;  // in this order
  std::vector<std::uint32_t> others_, rows_;
  std::vector<ActionScores*> wanted_;
  std::vector<std::uint32_t> wanted_sums_;  // of each state wanted, a sum a view
};

}  // namespace marginloom
