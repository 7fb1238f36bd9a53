// How steps reach the weights: plainly, where one thread owns them, by atomic additions, where several write, or
// plainly with a mark on what changes.
#pragma once

#include <atomic>

#include "core/types.hpp"
#include "core/weight_marks.hpp"

namespace marginloom {

struct WeightWriter {
  double* weights;
  bool atomic = false;
  ChangedWeights* changed = nullptr;  // marked where it is not null, which no atomic writer has

  void add(WeightIndex k, double change) const {
    with_add([=](auto add) { add(k, change); });
  }
  // Calls call(add), add(k, change) being the one or the other way: for loops that would ask for every weight.
  template <class Call>
  void with_add(Call call) const {
    double* const own = weights;
    if (atomic) {
      call([own](WeightIndex k, double change) {
        std::atomic_ref(own[k]).fetch_add(change, std::memory_order_relaxed);
      });
    } else if (ChangedWeights* const marks = changed) {
      call([own, marks](WeightIndex k, double change) {
        own[k] += change;
        marks->mark(k);
      });
    } else {
      call([own](WeightIndex k, double change) { own[k] += change; });
    }
  }
  // Where single weights need not be added one by one: the weights themselves, or null.
  [[nodiscard]] double* plain() const { return atomic || changed ? nullptr : weights; }
};

// A weight that another thread may be changing: as it was before, or as it is after.
[[nodiscard]] inline double read_weight(WeightView w, WeightIndex k) {
  return std::atomic_ref(const_cast<double&>(w[k])).load(std::memory_order_relaxed);
}

}  // namespace marginloom
