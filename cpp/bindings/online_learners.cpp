// Learners that step from candidates to weights.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "bindings/bindings.hpp"
#include "learners/mira.hpp"
#include "learners/passive_aggressive.hpp"
#include "learners/perceptron.hpp"
#include "learners/sgd.hpp"

namespace marginloom::python {

void bind_online_learners(nb::module_& module) {
  nb::class_<OnlineLearner>(module, "OnlineLearner");
  nb::class_<Perceptron, OnlineLearner>(module, "Perceptron")
      .def("__init__",
           [](Perceptron* self, std::shared_ptr<Task> task, const InputArray<double>& instance_weights, bool averaged) {
             new (self) Perceptron(std::move(task), checked_numbers(instance_weights), averaged);
           });
  nb::class_<Mira, OnlineLearner>(module, "Mira")
      .def("__init__", [](Mira* self, std::shared_ptr<Task> task, const InputArray<double>& costs, int k_best,
                          bool loss_augmented, bool unbounded, double qp_tolerance, int qp_sweeps, bool averaged) {
        new (self) Mira(std::move(task), checked_numbers(costs),
                        {.k_best = k_best,
                         .loss_augmented = loss_augmented,
                         .unbounded = unbounded,
                         .programme = {.tolerance = qp_tolerance, .max_sweeps = qp_sweeps},
                         .averaged = averaged});
      });
  using Variant = PassiveAggressive::Variant;
  nb::class_<PassiveAggressive, OnlineLearner>(module, "PassiveAggressive")
      .def("__init__", [](PassiveAggressive* self, std::shared_ptr<Task> task, const InputArray<double>& costs,
                          const std::string& variant, bool loss_augmented, bool averaged) {
        const Variant chosen = variant == "pa" ? Variant::pa : variant == "pa-i" ? Variant::pa_i : Variant::pa_ii;
        new (self) PassiveAggressive(std::move(task), checked_numbers(costs),
                                     {.variant = chosen, .loss_augmented = loss_augmented, .averaged = averaged});
      });
  nb::class_<Sgd, OnlineLearner>(module, "Sgd")
      .def("__init__",
           [](Sgd* self, std::shared_ptr<Task> task, const InputArray<double>& instance_weights, double C, double eta0,
              bool averaged) {
             new (self)
                 Sgd(std::move(task), checked_numbers(instance_weights), {.C = C, .eta_0 = eta0, .averaged = averaged});
           })
      .def_prop_ro("eta0", &Sgd::eta_0);
}

}  // namespace marginloom::python
