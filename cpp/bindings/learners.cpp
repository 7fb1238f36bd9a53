// Learners, by their names: a task, a number for every example, and parameters.
#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "bindings/structs.hpp"
#include "core/parameters.hpp"
#include "learners/registered_learner.hpp"

namespace marginloom::python {
namespace {

// `numbers` are those that the learner asks for, by row; what users see as an example is one.
AnyLearner make_learner(const std::string& name, const std::shared_ptr<Task>& task, const InputArray<double>& numbers,
                        const ParameterValues& parameters) {
  ExampleNumbers rows(checked_numbers(numbers), task->examples_per_row());
  return registered_learner(name).make(task, std::move(rows), parameters);
}

// Empty if only training shows what it takes.
NamedBytes learner_needs(const std::string& name, const Task& task, int threads) {
  const auto& needs = registered_learner(name).needs;
  return needs ? needs(task, threads) : NamedBytes{};
}

}  // namespace

void bind_learners(nb::module_& module) {
  nb::enum_<Loss>(module, "Loss").value("hinge", Loss::hinge).value("squared_hinge", Loss::squared_hinge);
  nb::class_<OnlineLearner>(module, "OnlineLearner").def_prop_ro("chosen", &OnlineLearner::chosen);
  nb::class_<DualLearner>(module, "DualLearner").def_prop_ro("memory", [](const DualLearner& self) {
    return self.held().bytes;
  });
  nb::class_<BlockLearner, DualLearner>(module, "BlockLearner");
  nb::class_<PassLearner, DualLearner>(module, "PassLearner");
  bind_result(module, "ParameterType", Field{"name", &ParameterType::name}, Field{"type", &ParameterType::type},
              Field{"words", &ParameterType::words});
  using Registered = RegisteredLearner;
  bind_result(module, "RegisteredLearner", Field{"name", &Registered::name}, Field{"kind", &Registered::kind},
              Field{"parameters", &Registered::parameters})
      .def_prop_ro("takes_costs", [](const Registered& self) { return self.numbers == RowNumbers::costs; });
  module.def("registered_learners", [] { return registered_learners(); });
  module.def("make_learner", &make_learner, nb::arg("name"), nb::arg("task"), nb::arg("numbers"),
             nb::arg("parameters"));
  module.def("learner_needs", &learner_needs, nb::arg("name"), nb::arg("task"), nb::arg("threads"));
}

}  // namespace marginloom::python
