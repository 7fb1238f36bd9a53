// When sweeps over blocks that are solved together may end before all of them are solved. A value, so that whoever
// solves can be told.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

namespace marginloom {

struct SweepLimits {
  bool others_move = false;  // other threads move the weights: end when what sweeps seem to gain no longer falls
  bool early = false;        // end also:
  double least_gain = 0;     //   after a sweep that gained less;
  std::size_t sweeps = 0;    //   and, once there were more than so many,
  double change = 0;         //   when sweeps that each gained less than this
  std::size_t times = 0;     //   were so many in a row
};

// Follows the sweeps of a solution.
class Patience {
 public:
  explicit Patience(const SweepLimits& limits) : limits_(limits) {}

  // Tells after a sweep, given what it gained, whether it is enough.
  bool ends(double gain) {
    constexpr int enough = 3;
    vain_sweeps_ = gain < lowest_gain_ ? 0 : vain_sweeps_ + 1;
    lowest_gain_ = std::min(lowest_gain_, gain);
    if (limits_.others_move && vain_sweeps_ >= enough) return true;
    if (!limits_.early) return false;
    if (gain < limits_.least_gain) return true;
    if (++sweeps_ <= limits_.sweeps) return false;
    small_changes_ = gain < limits_.change ? small_changes_ + 1 : 0;
    return small_changes_ >= limits_.times;
  }

 private:
  SweepLimits limits_;
  double lowest_gain_ = std::numeric_limits<double>::infinity();
  int vain_sweeps_ = 0;  // since one gained less than any before
  std::size_t sweeps_ = 0;
  std::size_t small_changes_ = 0;
};

}  // namespace marginloom
