// What makes it safe that several threads step on the same weights at once.
//
// A step that was computed before another thread's step was seen is too long where both go the same way. Two things
// answer that. Steps are shorter where it is likely: the curvature of a weight counts 1 + (damping - 1) min(1, c)
// times, c being how many of the other learners' visits move the weight at a time, as a sample of supports has it;
// where differences are implicit, all of the curvature counts `damping` times. Damping follows what a pass gained in
// the dual against what its threads expected to gain: it rises fast, to the number of learners at most, and falls
// slowly.
//
// And no pass ends below the one before. The end of a pass is a check: the duals that it begins with are noted, their
// candidates stay until the next one, and if the dual fell, the duals go back to the best point on the line between the
// two. On that line the dual is a parabola, so three of its values tell where that is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/random.hpp"
#include "learners/block_learner.hpp"
#include "learners/dual_point.hpp"

namespace marginloom {

class Safeguard {
 public:
  // `threads` note what they are about to change, `learners` of them make steps.
  Safeguard(BlockLearner& learner, std::size_t threads, std::size_t learners);
  ~Safeguard() { learner_.blocks().hold(nullptr); }
  Safeguard(const Safeguard&) = delete;
  Safeguard& operator=(const Safeguard&) = delete;

  // Begins a pass over these examples.
  void begin(WeightView w, std::span<const std::size_t> examples, Random& random);

  // To be called before the block of example i changes for the first time in a pass.
  void note(std::size_t i, std::size_t thread) { point_.note(i, learner_.blocks()[i], thread); }

  // Ends a pass, given |w|^2 and what the threads expect to have gained. Moves the duals and w if the dual fell.
  // Returns |w|^2.
  double check(double squared_norm, double expected, bool whole_pass, std::span<double> w);

  // The duals are others than at the last check.
  void forget() { known_ = false; }

  [[nodiscard]] StepDamping damping() const;

 private:
  void adapt(double gained, double expected);
  void sample_supports(std::span<const std::size_t> examples, Random& random);
  double go_back(double dual, std::span<double> w);
  double move_to(double share, std::span<double> w);

  BlockLearner& learner_;
  double learners_;
  double damping_ = 1;
  double dual_ = 0;     // at the last check
  bool known_ = false;  // that this is the dual that a pass begins with
  DualPoint point_;
  std::vector<double> duals_;
  std::vector<std::uint8_t> movers_;  // by weight: in how many supports of the sample it is
  std::vector<double> factors_;       // by that number
  std::size_t sample_ = 0;            // blocks
  int passes_until_sample_ = 0;
};

}  // namespace marginloom
