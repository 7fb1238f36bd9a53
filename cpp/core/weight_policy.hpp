// How a learner's step reads and writes weights. The step is written once, as a template over these.
//
//   PlainWeights    one thread owns the vector
//   TrackedWeights  one thread owns the vector and notes which parts it changes
//   LoggedWeights   one thread owns the vector and notes every step, so that copies can follow
//   TriedWeights    the vector is only read, and changes go into an overlay
//   AtomicWeights   several threads share it: relaxed loads and atomic adds. Steps are made with weights that others
//                   are about to change; where that makes their sum overshoot, `caution` > 1 shortens them: the
//                   squared norm of a difference counts so many times. With a `ledger` the adds are not atomic:
//                   a change may get lost when two threads meet, but the thread's ledger has it, so that the sum
//                   of all ledgers puts the weights right. That is much faster where most weights are hot,
//                   because the cache lines of an update then travel all at once
//   PrivateWeights  a thread works on its own copy of the hot weights (a prefix of the vector) and shares the
//                   rest atomically. The copies of p threads are summed when they are merged, so each copy
//                   moves `scale` times the thread's step and the step counts the hot part of the squared
//                   norm `scale` times: with scale = p the sum of all steps is safe (the scaling of CoCoA+).
//
// A task with implicit differences evaluates them against the same ones (see Task::dot and Task::add); it
// does not say which part of its norm is hot, so there PrivateWeights counts all of it `scale` times, which
// is safe.
#pragma once

#include <atomic>
#include <span>

#include "core/candidate.hpp"
#include "core/change_log.hpp"
#include "core/dirty_blocks.hpp"
#include "core/overlay.hpp"

namespace marginloom {

// What a step needs of a difference d: w.d, and the curvature beyond |d|^2 that the policy adds.
struct Projection {
  double dot = 0;
  double extra_curvature = 0;
};

// Policies that give access to single weights; the others serve implicit differences only.
template <class Weights>
concept SingleWeights = requires(const Weights& w) { w.read(WeightIndex{}); };

struct PlainWeights {
  double* data;

  [[nodiscard]] double read(WeightIndex k) const { return data[k]; }
  void add(WeightIndex k, double change) const { data[k] += change; }
  [[nodiscard]] static constexpr double extra_curvature(WeightIndex, double) { return 0; }
  [[nodiscard]] static constexpr double extra_curvature_bound(double) { return 0; }
};

struct TrackedWeights {
  double* data;
  DirtyBlocks* dirty;

  [[nodiscard]] double read(WeightIndex k) const { return data[k]; }
  void add(WeightIndex k, double change) const {
    data[k] += change;
    dirty->mark(k);
  }
  [[nodiscard]] static constexpr double extra_curvature(WeightIndex, double) { return 0; }
  [[nodiscard]] static constexpr double extra_curvature_bound(double) { return 0; }
};

struct LoggedWeights {
  double* data;
  ChangeLog* log;

  [[nodiscard]] PlainWeights plain() const { return {data}; }
  [[nodiscard]] double read(WeightIndex k) const { return data[k]; }
  [[nodiscard]] static constexpr double extra_curvature(WeightIndex, double) { return 0; }
  [[nodiscard]] static constexpr double extra_curvature_bound(double) { return 0; }
};

struct TriedWeights {
  WeightView base;
  Overlay* changes;

  [[nodiscard]] double read(WeightIndex k) const { return base[k] + changes->at(k); }
  void add(WeightIndex k, double change) const { changes->add(k, change); }
  [[nodiscard]] static constexpr double extra_curvature(WeightIndex, double) { return 0; }
  [[nodiscard]] static constexpr double extra_curvature_bound(double) { return 0; }
};

struct AtomicWeights {
  double* data;
  double caution = 1;
  double* ledger = nullptr;  // the thread's own changes, as many as there are weights
  bool alone = false;        // there is no other thread: additions need not be atomic

  [[nodiscard]] double read(WeightIndex k) const {
    return std::atomic_ref<double>(data[k]).load(std::memory_order_relaxed);
  }
  void add(WeightIndex k, double change) const {
    const std::atomic_ref<double> weight(data[k]);
    if (!ledger && !alone) {
      weight.fetch_add(change, std::memory_order_relaxed);
      return;
    }
    weight.store(weight.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
    if (ledger) ledger[k] += change;
  }
  [[nodiscard]] double extra_curvature(WeightIndex, double value) const { return (caution - 1) * value * value; }
  [[nodiscard]] double extra_curvature_bound(double squared_norm) const { return (caution - 1) * squared_norm; }
};

struct PrivateWeights {
  AtomicWeights shared;
  std::span<double> hot;      // this thread's copy of the first weights
  std::span<double> changes;  // the thread's own steps on them since the last merge, unscaled
  double scale;

  [[nodiscard]] double read(WeightIndex k) const { return k < hot.size() ? hot[k] : shared.read(k); }
  void add(WeightIndex k, double change) const {
    if (k < hot.size()) {
      hot[k] += scale * change;
      changes[k] += change;
    } else {
      shared.add(k, change);
    }
  }
  [[nodiscard]] double extra_curvature(WeightIndex k, double value) const {
    return k < hot.size() ? (scale - 1) * value * value : 0;
  }
  [[nodiscard]] double extra_curvature_bound(double squared_norm) const { return (scale - 1) * squared_norm; }
};

// Four sums at a time, so that an addition need not wait for the one before.
template <class Weights>
[[nodiscard]] Projection project(std::span<const Entry> difference, const Weights& weights) {
  Projection sums[4];
  const auto count = [&](const Entry& entry, Projection& sum) {
    sum.dot += weights.read(entry.index) * entry.value;
    sum.extra_curvature += weights.extra_curvature(entry.index, entry.value);
  };
  const std::size_t whole = difference.size() & ~std::size_t{3};
  for (std::size_t k = 0; k < whole; k += 4) {
    for (std::size_t lane = 0; lane < 4; ++lane) count(difference[k + lane], sums[lane]);
  }
  for (std::size_t k = whole; k < difference.size(); ++k) count(difference[k], sums[k - whole]);
  return {(sums[0].dot + sums[1].dot) + (sums[2].dot + sums[3].dot),
          (sums[0].extra_curvature + sums[1].extra_curvature) + (sums[2].extra_curvature + sums[3].extra_curvature)};
}

template <class Weights>
void add_scaled(std::span<const Entry> difference, double step, const Weights& weights) {
  for (const Entry& entry : difference) weights.add(entry.index, step * entry.value);
}
inline void add_scaled(std::span<const Entry> difference, double step, const LoggedWeights& weights) {
  add_scaled(difference, step, weights.plain());
  weights.log->note(difference, step);
}

}  // namespace marginloom
