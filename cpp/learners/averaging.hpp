// The average of all weight vectors that an online learner has had, at no cost per example.
//
//   average  (s_1 v_1 + ... + s_T v_T) / T,  where after tick t the weights are s_t v_t (s_t = 1 unless the
//            learner shrinks its weights lazily) and v_t is the vector that the engine keeps
//
// A change of v made before tick t is missing from v_1 ... v_{t-1}. So with S_t = s_1 + ... + s_t and
// u = sum_t S_{t-1} * change_t the average is (S_T v - u) / T. With s_t = 1 it is exact, to the last bit,
// whenever all changes are whole numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/state.hpp"
#include "core/sum_vector.hpp"
#include "core/task.hpp"

namespace marginloom {

class Averaging {
 public:
  Averaging(std::size_t dimension, bool on) : late_(on ? dimension : 0) {}

  // Tells that v is changed by step * difference before the next tick.
  void note(const Task& task, const Candidate& candidate, double step) {
    if (late_.empty() || scales_ == 0) return;
    if (candidate.implicit) {
      add_difference(task, candidate, step * scales_, {late_.array().data()});
    } else {
      for (const Entry& entry : candidate.difference) late_.add(entry.index, step * scales_ * entry.value);
    }
  }

  // Counts the weights as they are now, scale * v.
  void tick(double scale = 1) {
    scales_ += scale;
    ++ticks_;
  }

  // To be called before a lazy learner multiplies all of v by a number. It ends the sums S and u, whose
  // difference would lose digits if S went on while v grew.
  void rebase(std::span<const double> v) {
    const auto late = late_.array();
    for (std::size_t k = 0; k < late.size(); ++k) late[k] -= scales_ * v[k];
    scales_ = 0;
  }

  // What an engine needs that puts one average together from several (with s_t = 1): u, empty if nothing is averaged,
  // and T, which both can be set.
  [[nodiscard]] bool on() const { return !late_.empty(); }
  [[nodiscard]] std::span<double> late() { return late_.array(); }
  [[nodiscard]] std::uint64_t ticks() const { return ticks_; }
  void set_ticks(std::uint64_t ticks) {
    ticks_ = ticks;
    scales_ = static_cast<double>(ticks);
  }

  // The average, or scale * v where nothing is averaged.
  void write(std::span<const double> v, double scale, std::span<double> result) const {
    if (late_.empty() || ticks_ == 0) {
      std::ranges::transform(v, result.begin(), [scale](double value) { return scale * value; });
      return;
    }
    const auto ticks = static_cast<double>(ticks_);
    std::ranges::transform(v, result.begin(), [this](double value) { return scales_ * value; });
    late_.subtract_from(result);
    for (double& value : result) value /= ticks;
  }

  [[nodiscard]] StateArrays export_state() const {
    return {{"average_late", late_.copy()},
            {"average_scales", std::vector<double>{scales_}},
            {"average_ticks", std::vector<std::uint64_t>{ticks_}}};
  }

  // Throws std::invalid_argument, and changes nothing, if the state does not fit.
  void import_state(const StateArrays& state) {
    const auto& late = state_array<double>(state, "average_late");
    const auto& scales = state_array<double>(state, "average_scales");
    const auto& ticks = state_array<std::uint64_t>(state, "average_ticks");
    if (late.size() != late_.size()) {
      throw std::invalid_argument("the learner averages " + std::to_string(late_.size()) + " weights, the state " +
                                  std::to_string(late.size()));
    }
    if (scales.size() != 1 || ticks.size() != 1) throw std::invalid_argument("'average_ticks' is not one number");
    if (!all_finite(late) || !std::isfinite(scales[0]) || scales[0] < 0) {
      throw std::invalid_argument("'average_late' of the state has NaN or infinite values");
    }
    late_ = SumVector(late.size());
    for (std::size_t k = 0; k < late.size(); ++k) {
      if (late[k] != 0) late_.add(static_cast<WeightIndex>(k), late[k]);
    }
    scales_ = scales[0];
    ticks_ = ticks[0];
  }

 private:
  SumVector late_;           // u, empty if nothing is averaged
  double scales_ = 0;        // S
  std::uint64_t ticks_ = 0;  // T
};

}  // namespace marginloom
