// The multilabel task.
#include <nanobind/stl/pair.h>

#include <utility>

#include "bindings/bindings.hpp"
#include "bindings/inputs.hpp"
#include "bindings/structs.hpp"
#include "tasks/multilabel/multilabel.hpp"

namespace marginloom::python {
namespace {

void make_task(MultilabelTask* self, const InputRows& inputs, const OptionalArray<std::uint8_t>& gold,
               std::size_t label_count, MultilabelOptions options) {
  new (self) MultilabelTask(inputs.data(), view_or_empty(gold), label_count, std::move(options));
}

void bind(nb::module_& module) {
  using Options = MultilabelOptions;
  bind_options(module, "MultilabelOptions", Field{"missing_costs", &Options::missing_costs},
               Field{"spurious_costs", &Options::spurious_costs}, Field{"labels_per_slack", &Options::labels_per_slack},
               Field{"pairs", &Options::pairs}, Field{"relaxes", &Options::relaxes}, Field{"sweeps", &Options::sweeps});
  nb::class_<MultilabelTask, Task>(module, "MultilabelTask")
      .def("__init__", &make_task, nb::arg("inputs"), nb::arg("gold").none().noconvert(), nb::arg("label_count"),
           nb::arg("options"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
      .def_prop_ro("stride", &MultilabelTask::stride)
      .def_prop_ro("first_row", &MultilabelTask::first_row);
}

const TaskBinding binding(bind);

}  // namespace
}  // namespace marginloom::python
