// The mean of the weights over the inner passes of an iteration. Where a hinge is far from smooth, the last weights
// jump around the optimum of the primal while the dual hardly moves; their mean over one iteration lies much closer. It
// is the point of the mean of the duals, and training itself does not use it.
//
// The weights are counted at the ends of inner passes, as soon as enough steps were made since they were last counted
// that the time for it is small beside theirs. Where there are far more weights than steps, so that the weights of an
// iteration are nearly the same from beginning to end, that never happens, and no second vector is kept.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <vector>

#include "core/state.hpp"
#include "core/types.hpp"
#include "core/weight_writer.hpp"

namespace marginloom {

class SweepAverage {
 public:
  // Forgets the iteration before.
  void begin() {
    sum_.clear();
    count_ = 0;
    updates_ = 0;
  }

  // Takes the weights after an inner pass in which so many dual variables have changed; other threads may be changing
  // the weights.
  void note(WeightView w, std::size_t updates) {
    constexpr std::size_t weights_per_update = 4;  // that a step moves, or more
    updates_ += updates;
    if (updates_ * weights_per_update < w.size()) return;
    updates_ = 0;
    sum_.resize(w.size());
    for (std::size_t k = 0; k < w.size(); ++k) sum_[k] += read_weight(w, static_cast<WeightIndex>(k));
    ++count_;
  }

  // The mean itself, 0 so far, for whoever computes it.
  [[nodiscard]] std::span<double> single(std::size_t size) {
    sum_.assign(size, 0.0);
    count_ = 1;
    return sum_;
  }

  [[nodiscard]] std::span<const double> single() const { return sum_; }

  // True if the weights at the end of the iteration stand for it.
  [[nodiscard]] bool empty() const { return count_ == 0; }

  // Requires that it is not empty.
  void write(std::span<double> mean) const {
    for (std::size_t k = 0; k < mean.size(); ++k) mean[k] = sum_[k] / static_cast<double>(count_);
  }

  void add_to(StateArrays& state) const {
    if (empty()) return;
    std::vector<double> mean(sum_.size());
    write(mean);
    state["sweep_average"] = std::move(mean);
  }

  // A state of a run without an average, or over other features, has none. Throws std::invalid_argument if it is
  // broken.
  void take_from(const StateArrays& state, std::size_t size) {
    begin();
    if (!state.contains("sweep_average")) return;
    const auto& mean = state_array<double>(state, "sweep_average");
    if (!all_finite(mean)) throw std::invalid_argument("'sweep_average' of the state has NaN or infinite values");
    if (mean.size() != state_array<double>(state, "weights").size()) {
      throw std::invalid_argument("'sweep_average' of the state has another length than its weights");
    }
    if (mean.size() != size) return;
    sum_ = mean;
    count_ = 1;
  }

 private:
  std::vector<double> sum_;
  std::size_t count_ = 0;
  std::size_t updates_ = 0;  // since the weights were last counted
};

}  // namespace marginloom
