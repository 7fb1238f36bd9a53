// Which prefix an inexact search learns from (minibatch-2013, section 5; Huang, Fayong and Guo 2012).
//
// A beam search makes an output step by step, and gold may leave the beam. Then the best output need not score higher
// than gold, and a step of the learner on whole outputs may make things worse. So the search is followed step by step:
//
//   violation_j = (best score in the beam after j steps) - (score of gold's first j steps)        without loss
//   max-violation  the j with the largest violation
//   early          the first j at which gold has left the beam, else the last one
//   standard       the last one
//
// Of equal violations the longest prefix counts: with all weights at 0 every violation is 0, and the first wrong step
// often has a loss of 0, with which a learner that asks for a margin would never move. So early update, too, goes on
// where gold has left the beam in a tie, for as long as prefixes tie.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <utility>

namespace marginloom {

enum class PrefixUpdate { max_violation, early, standard };

inline constexpr std::array<std::pair<const char*, PrefixUpdate>, 3> prefix_update_words{
    {{"max-violation", PrefixUpdate::max_violation},
     {"early", PrefixUpdate::early},
     {"standard", PrefixUpdate::standard}}};

// Follows one search and says which prefix its candidate is. With gold in the beam no violation is below 0.
class PrefixChoice {
 public:
  explicit PrefixChoice(PrefixUpdate update) : update_(update) {}

  // Takes the next step: the best score in the beam, the score of gold's prefix, and whether the beam has that prefix.
  // Where the best prefix is gold's, the two scores must be the same bits.
  void take(double best, double gold, bool gold_in_beam) {
    ++steps_;
    const double violation = best - gold;
    if (settled_) {
      if (violation == 0 && violation_ == 0) length_ = steps_;
      return;
    }
    if (update_ != PrefixUpdate::max_violation || violation >= violation_) {
      length_ = steps_;
      violation_ = violation;
    }
    settled_ = update_ == PrefixUpdate::early && !gold_in_beam;
  }

  [[nodiscard]] std::size_t length() const { return length_; }  // steps of the prefix; 0 before the first one
  [[nodiscard]] double violation() const { return violation_; }

  // Whether no later step matters: the search can end here.
  [[nodiscard]] bool ends_search() const { return settled_ && violation_ > 0; }

  // Whether there is a candidate, given that the output at the end of the search is wrong or right. A right one may
  // come by steps other than gold's, and is no candidate unless the prefix is violated.
  [[nodiscard]] bool has_candidate(bool output_is_wrong) const {
    return length_ > 0 && (violation_ > 0 || output_is_wrong);
  }

 private:
  PrefixUpdate update_;
  std::size_t steps_ = 0;
  std::size_t length_ = 0;
  double violation_ = -std::numeric_limits<double>::infinity();
  bool settled_ = false;
};

}  // namespace marginloom
