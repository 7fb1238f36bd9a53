// Learners with dual variables.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <stdexcept>

#include "bindings/bindings.hpp"
#include "learners/cutting_plane.hpp"
#include "learners/dcd.hpp"
#include "learners/frank_wolfe.hpp"
#include "learners/fsmo.hpp"
#include "learners/one_slack.hpp"

namespace marginloom::python {
namespace {

using SharedTask = std::shared_ptr<Task>;
using Costs = InputArray<double>;

Loss loss_named(const std::string& name) {
  if (name == "hinge") return Loss::hinge;
  if (name == "squared_hinge") return Loss::squared_hinge;
  throw std::invalid_argument("there is no loss '" + name + "'");
}

void make_dcd(Dcd* self, SharedTask task, const Costs& costs, const std::string& loss, double delta, int k_best,
              int inner_passes, int sweeps, double shrinking, int rest, bool averaged, std::size_t memory) {
  if (k_best > 1 && !task->capabilities().k_best) throw std::invalid_argument("this task has no k-best inference");
  new (self) Dcd(std::move(task), checked_numbers(costs),
                 {.loss = loss_named(loss),
                  .delta = delta,
                  .k_best = k_best,
                  .inner_passes = inner_passes,
                  .sweeps = sweeps,
                  .shrinking = shrinking,
                  .rest = rest,
                  .averaged = averaged,
                  .memory = memory});
}

void make_cutting_plane(CuttingPlane* self, SharedTask task, const Costs& costs, const std::string& loss,
                        double epsilon, std::size_t batch, std::size_t memory) {
  new (self) CuttingPlane(std::move(task), checked_numbers(costs),
                          {.loss = loss_named(loss), .epsilon = epsilon, .batch = batch, .memory = memory});
}

void make_one_slack(OneSlack* self, SharedTask task, const Costs& costs, std::size_t cache, std::size_t inactive,
                    std::size_t memory) {
  new (self)
      OneSlack(std::move(task), checked_numbers(costs), {.cache = cache, .inactive = inactive, .memory = memory});
}

void make_frank_wolfe(FrankWolfe* self, SharedTask task, const Costs& costs, int inner_passes, bool averaged,
                      std::size_t memory) {
  new (self) FrankWolfe(std::move(task), checked_numbers(costs),
                        {.inner_passes = inner_passes, .averaged = averaged, .memory = memory});
}

void make_fsmo(Fsmo* self, SharedTask task, const Costs& costs, double epsilon, int k_best, std::size_t batch,
               bool all_after_batch, bool as_published, bool inner_stop, std::size_t inner_iterations,
               double inner_change, std::size_t inner_times, double inner_share, std::size_t memory) {
  new (self) Fsmo(std::move(task), checked_numbers(costs),
                  {.epsilon = epsilon,
                   .k_best = k_best,
                   .batch = batch,
                   .all_after_batch = all_after_batch,
                   .as_published = as_published,
                   .inner_stop = inner_stop,
                   .inner_iterations = inner_iterations,
                   .inner_change = inner_change,
                   .inner_times = inner_times,
                   .inner_share = inner_share,
                   .memory = memory});
}

}  // namespace

void bind_dual_learners(nb::module_& module) {
  nb::class_<Dcd, DualLearner>(module, "Dcd").def("__init__", &make_dcd);
  nb::class_<CuttingPlane, DualLearner>(module, "CuttingPlane").def("__init__", &make_cutting_plane);
  nb::class_<OneSlack, DualLearner>(module, "OneSlack").def("__init__", &make_one_slack);
  nb::class_<FrankWolfe, DualLearner>(module, "FrankWolfe").def("__init__", &make_frank_wolfe);
  nb::class_<Fsmo, DualLearner>(module, "Fsmo").def("__init__", &make_fsmo);
}

}  // namespace marginloom::python
