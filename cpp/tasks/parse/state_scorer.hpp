// Scores of the actions of states of one sentence from the weights of their features.
//
// The templates of a group read few places, and the states of a beam agree in most of them: what a group says of them
// is summed once and kept, and so is what the groups of a view say together. Weights of features that are not in a
// cache yet are asked for while others are found.
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

  // Takes a state whose scores are wanted, and where to write them; then run() computes those of all states taken.
  void add(const ParserState& state, ActionScores* scores);
  void run();

  // What the sums of a group take for a state of one step; others that are kept take a few megabytes together.
  static constexpr std::size_t bytes_per_group = 2 * action_stride * sizeof(double) + 4 * sizeof(std::uint32_t);

 private:
  // Where a sum is kept: of a group or of a view, for some values of its places.
  struct Kept {
    std::uint64_t values = 0;
    std::uint32_t owner = 0;  // generation, and group or view
    std::uint32_t sum = 0;
  };
  struct Sum {  // to be made, of rows of weights or of other sums
    std::uint32_t place;
    std::uint32_t end;
  };

  [[nodiscard]] Kept& kept(std::size_t owner, std::uint64_t values);
  [[nodiscard]] std::uint32_t sum_of_view(std::size_t view, const StatePlaces& places);
  [[nodiscard]] std::uint32_t sum_of_group(std::size_t group, const StatePlaces& places);
  [[nodiscard]] std::uint32_t new_view_sum(std::size_t view, const StatePlaces& places);
  [[nodiscard]] std::uint32_t new_group_sum(std::size_t group, const StatePlaces& places);
  void forget();

  const StateFeatures& features_;
  std::size_t length_ = 0;
  WeightView weights_;
  StateParts parts_;
  std::vector<Kept> kept_;
  int shift_ = 64;
  std::uint32_t generation_ = 0;
  AlignedVector<double> sums_;  // rows of action_stride
  std::uint32_t sum_count_ = 0;
  std::vector<Sum> group_sums_, view_sums_;  // to be made, in this order
  std::vector<std::uint32_t> rows_, parts_of_views_;
  std::vector<ActionScores*> wanted_;
  std::vector<std::uint32_t> wanted_sums_;  // of each state wanted, a sum a view
};

}  // namespace marginloom
