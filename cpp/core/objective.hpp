// The primal objective 1/2 |w|^2 + sum_i C_i l(xi_i) of any weights.
#pragma once

#include <functional>
#include <span>

#include "core/loss.hpp"
#include "core/parallel.hpp"
#include "core/task.hpp"

namespace marginloom {

struct Primal {
  double value = 0;
  double squared_norm = 0;  // |w|^2
  bool complete = false;    // false: stopped before every example was searched, so `value` means nothing
};

// Searches every example for its largest slack under w; `cost` gives the C_i. The result does not depend on
// the number of threads.
[[nodiscard]] Primal primal_value(const Task& task, WeightView w, std::span<const std::size_t> examples,
                                  const std::function<double(std::size_t)>& cost, Loss loss, int threads,
                                  StopRequest& stop);

}  // namespace marginloom
