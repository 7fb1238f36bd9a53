// The primal objective 1/2 |w|^2 + sum_i C_i l(xi_i) of any weights.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/loss.hpp"
#include "core/parallel.hpp"
#include "core/task.hpp"
#include "core/world.hpp"

namespace marginloom {

struct Primal {
  double value = 0;
  double squared_norm = 0;  // |w|^2
  bool complete = false;    // false: stopped before every example was searched, so `value` means nothing
};

// Searches examples for their largest slacks on several threads, which keep what searches need.
class SlackSearch {
 public:
  SlackSearch(const Task& task, int threads);

  // slacks[j] = xi of examples[j] under w, or an upper bound of it; false if it was stopped. `progress` counts the
  // examples, if there is one. The slacks do not depend on the number of threads, nor on what else is searched, if the
  // list of examples begins at a multiple of `grain` of a longer list.
  [[nodiscard]] bool search(std::span<const std::size_t> examples, WeightView w, std::span<double> slacks,
                            StopRequest& stop, Progress* progress = nullptr);

  static constexpr std::size_t grain = 8;

 private:
  const Task& task_;
  std::vector<std::unique_ptr<Scratch>> scratch_;
};

// Searches every example for its largest slack under w, in the parts of a world if there is one; `cost` gives the C_i.
// The result does not depend on the number of threads or parts.
[[nodiscard]] Primal primal_value(const Task& task, WeightView w, std::span<const std::size_t> examples,
                                  const std::function<double(std::size_t)>& cost, Loss loss, int threads,
                                  StopRequest& stop, World* world = nullptr);

// What a part answers to the question `slacks`: those of its examples under the weights.
[[nodiscard]] StateArrays answer_slacks(SlackSearch& search, const Task& task, const ArrayViews& common,
                                        const ArrayViews& own, StopRequest& stop);

}  // namespace marginloom
