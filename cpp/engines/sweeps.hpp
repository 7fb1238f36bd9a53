// Sweeps over blocks that are solved together.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/parallel.hpp"
#include "core/random.hpp"
#include "learners/schedule.hpp"
#include "learners/visit.hpp"

namespace marginloom {

// What came of them.
struct Sweeps {
  double gain = 0;
  std::size_t updates = 0;  // duals that changed
  bool stopped = false;     // cut short by the owner
};

// Visits items, which stand for blocks, until none has a larger residual than asked for, or it is enough. A sweep
// visits those that were not solved in the one before; when none is left, one more visits all, since w has moved.
// visit(coming) visits the first of the items that come and returns its step.
template <class Visit>
Sweeps sweep_together(const Together& how, std::span<const std::size_t> items, Random& random, StopRequest& stop,
                      Visit visit) {
  constexpr int most_sweeps = 100'000;  // far more than it takes; the gap tells if it was too few
  Patience patience(how.limits);
  std::vector<std::size_t> unsolved;
  Sweeps result;
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    const bool all = unsolved.empty() || how.whole_sweeps;
    if (all) unsolved.assign(items.begin(), items.end());
    if (!how.whole_sweeps) random.shuffle(std::span(unsolved));
    std::size_t left = 0;
    double gain = 0;
    for (std::size_t j = 0; j < unsolved.size() && !result.stopped; ++j) {
      if (j % 64 == 0 && stop.stopped()) {
        result.stopped = true;
        break;
      }
      const Step step = visit(std::span<const std::size_t>(unsolved).subspan(j));
      result.updates += step.updates;
      gain += step.gain;
      if (step.residual > how.tolerance) {
        ++left;
        if (!how.whole_sweeps) unsolved[left - 1] = unsolved[j];
      }
    }
    result.gain += gain;
    if (result.stopped) break;
    if (!how.whole_sweeps) unsolved.resize(left);
    if ((all && left == 0) || patience.ends(gain)) break;
  }
  return result;
}

}  // namespace marginloom
