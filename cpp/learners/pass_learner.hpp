// The dual learners that make whole passes by themselves, on all threads of whoever drives them, and have no blocks. An
// engine says when, and keeps the weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/certificate.hpp"
#include "core/parallel.hpp"
#include "core/pass_report.hpp"
#include "learners/dual_learner.hpp"

namespace marginloom {

class PassLearner : public DualLearner {
 public:
  using DualLearner::DualLearner;

  struct Work {
    std::span<const std::size_t> rows;  // to learn from; what users see as examples (Task::examples_per_row)
    std::span<double> w;                // what the duals stand for
    int threads;
    StopRequest& stop;
  };
  struct Order {
    std::uint64_t seed;  // of the pass
    bool shuffle;
  };

  // Whether the model has the mean of the weights over a pass.
  [[nodiscard]] virtual bool averages() const { return false; }

  // Improves the duals by one pass, and the weights with them: they belong together in the end, also if it was stopped.
  // A learner that averages is given a mean of 0 and fills it in; that of a pass that was stopped is not looked at.
  virtual PassReport pass(const Work& work, const Order& order, std::span<double> mean) = 0;

  // Recomputes the weights from the duals and bounds how far they are from the optimum, or the mean, unless it is
  // empty. By default every example is searched.
  [[nodiscard]] virtual Certificate certify(const Work& work, WeightView mean);
};

}  // namespace marginloom
