// The average of all dual points that a learner has been at, the later ones counting more:
//
//   average  w' = 2 / (K (K + 1)) sum_k k w_k over all steps k = 1 .. K, and the same of the sum of losses
//
// It follows the changes: one made at step k is missing from the k (k - 1) / 2 parts of the average before it, so with
// u = sum_k change_k k (k - 1) / 2 the average is w - 2 u / (K (K + 1)).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/types.hpp"
#include "core/weight_writer.hpp"
#include "core/zeroed_array.hpp"

namespace marginloom {

class StepAverage {
 public:
  explicit StepAverage(std::size_t dimension) : late_(dimension) {}

  // Counts a step. What is changed by it afterwards enters times weight().
  void tick() { ++clock_; }
  [[nodiscard]] double weight() const { return static_cast<double>(clock_) * (static_cast<double>(clock_) - 1) / 2; }
  [[nodiscard]] WeightWriter writer() { return {late_.values().data()}; }
  void add_loss(double change) { late_loss_ += change * weight(); }

  // Turns the current weights, or the current sum of dual * loss, into the average.
  void average(std::span<double> w) const {
    for (std::size_t k = 0; k < w.size() && clock_ > 0; ++k) w[k] -= share() * late_[k];
  }
  [[nodiscard]] double average(double loss) const { return clock_ > 0 ? loss - share() * late_loss_ : loss; }

  // Starts again from the current point: what it holds so far is of another problem.
  void forget() {
    std::ranges::fill(late_.values(), 0.0);
    late_loss_ = 0;
    clock_ = 0;
  }

  // What a state holds of it; restore() takes that back.
  [[nodiscard]] std::span<const double> late() const { return late_.values(); }
  [[nodiscard]] double late_loss() const { return late_loss_; }
  [[nodiscard]] std::uint64_t clock() const { return clock_; }
  void restore(std::span<const double> late, double late_loss, std::uint64_t clock) {
    std::ranges::copy(late, late_.values().begin());
    late_loss_ = late_loss;
    clock_ = clock;
  }

 private:
  [[nodiscard]] double share() const {
    const auto steps = static_cast<double>(clock_);
    return 2 / (steps * (steps + 1));
  }

  ZeroedArray late_;  // u
  double late_loss_ = 0;
  std::uint64_t clock_ = 0;  // K
};

}  // namespace marginloom
