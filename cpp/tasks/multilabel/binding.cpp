// The multilabel task.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "bindings/inputs.hpp"
#include "tasks/multilabel/multilabel.hpp"

namespace marginloom::python {
namespace {

void make_multilabel_task(MultilabelTask* self, std::size_t rows, std::size_t columns,
                          const OptionalArray<std::uint64_t>& offsets, const OptionalArray<std::uint32_t>& indices,
                          const OptionalArray<float>& singles, const OptionalArray<double>& doubles,
                          const OptionalArray<std::uint8_t>& gold, std::size_t label_count, double bias,
                          std::size_t labels_per_slack, std::vector<double> missing_costs,
                          std::vector<double> spurious_costs, std::vector<LabelPair> pairs, int sweeps) {
  new (self) MultilabelTask(input_data(rows, columns, offsets, indices, singles, doubles, bias), view_or_empty(gold),
                            label_count,
                            {.missing_costs = std::move(missing_costs),
                             .spurious_costs = std::move(spurious_costs),
                             .labels_per_slack = labels_per_slack,
                             .pairs = std::move(pairs),
                             .sweeps = sweeps});
}

void bind(nb::module_& module) {
  nb::class_<MultilabelTask, Task>(module, "MultilabelTask")
      .def("__init__", &make_multilabel_task, nb::arg("rows"), nb::arg("columns"), nb::arg("offsets").none(),
           nb::arg("indices").none(), nb::arg("singles").none(), nb::arg("doubles").none(), nb::arg("gold").none(),
           nb::arg("label_count"), nb::arg("bias"), nb::arg("labels_per_slack"), nb::arg("missing_costs"),
           nb::arg("spurious_costs"), nb::arg("pairs"), nb::arg("sweeps"), nb::keep_alive<1, 4>(),
           nb::keep_alive<1, 5>(), nb::keep_alive<1, 6>(), nb::keep_alive<1, 7>(), nb::keep_alive<1, 8>())
      .def_prop_ro("stride", &MultilabelTask::stride)
      .def_prop_ro("first_row", &MultilabelTask::first_row);
}

const TaskBinding binding(bind);

}  // namespace
}  // namespace marginloom::python
