// The task of labelling sequences, for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "bindings/inputs.hpp"
#include "tasks/sequence/sequence.hpp"

namespace marginloom::python {
namespace {

void make_sequence_task(SequenceTask* self, const InputArray<std::uint64_t>& sentences,
                        const OptionalArray<std::uint64_t>& tokens, const OptionalArray<std::uint32_t>& features,
                        const OptionalArray<float>& values, const OptionalArray<std::uint16_t>& gold,
                        std::size_t feature_count, std::size_t label_count, bool start_end,
                        std::vector<double> label_costs,
                        std::vector<std::pair<std::uint32_t, std::uint32_t>> forbidden) {
  SequenceData data;
  data.sentences = view(sentences);
  data.tokens = view_or_empty(tokens);
  data.features = view_or_empty(features);
  data.values = view_or_empty(values);
  data.gold = view_or_empty(gold);
  data.feature_count = feature_count;
  data.label_count = label_count;
  data.dense = !tokens.has_value();
  new (self) SequenceTask(
      data, {.start_end = start_end, .label_costs = std::move(label_costs), .forbidden = std::move(forbidden)});
}

void bind(nb::module_& module) {
  nb::class_<SequenceTask, Task>(module, "SequenceTask")
      .def("__init__", &make_sequence_task, nb::arg("sentences"), nb::arg("tokens").none(), nb::arg("features").none(),
           nb::arg("values").none(), nb::arg("gold").none(), nb::arg("feature_count"), nb::arg("label_count"),
           nb::arg("start_end"), nb::arg("label_costs"), nb::arg("forbidden"), nb::keep_alive<1, 2>(),
           nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(), nb::keep_alive<1, 6>())
      .def_prop_ro("stride", &SequenceTask::stride)
      .def_prop_ro("bytes_per_label", &SequenceTask::bytes_per_label);
}

const TaskBinding binding(bind);

}  // namespace
}  // namespace marginloom::python
