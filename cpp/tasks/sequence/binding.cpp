// The task of labelling sequences, for Python.
#include <nanobind/stl/pair.h>

#include <utility>

#include "bindings/bindings.hpp"
#include "bindings/inputs.hpp"
#include "bindings/structs.hpp"
#include "tasks/sequence/sequence.hpp"

namespace marginloom::python {
namespace {

// SequenceData as arrays, which it keeps; dense if it has no tokens.
struct SequenceArrays {
  InputArray<std::uint64_t> sentences = {};
  OptionalArray<std::uint64_t> tokens = {};
  OptionalArray<std::uint32_t> features = {};
  OptionalArray<float> values = {};
  OptionalArray<LabelIndex> gold = {};
  std::size_t feature_count = 0;
  std::size_t label_count = 0;

  [[nodiscard]] SequenceData data() const {
    return {.sentences = view(sentences),
            .tokens = view_or_empty(tokens),
            .features = view_or_empty(features),
            .values = view_or_empty(values),
            .gold = view_or_empty(gold),
            .feature_count = feature_count,
            .label_count = label_count,
            .dense = !tokens.has_value()};
  }
};

void make_task(SequenceTask* self, const SequenceArrays& arrays, SequenceOptions options) {
  new (self) SequenceTask(arrays.data(), std::move(options));
}

void bind(nb::module_& module) {
  using Arrays = SequenceArrays;
  bind_options(module, "SequenceData", Field{"sentences", &Arrays::sentences}, Field{"tokens", &Arrays::tokens},
               Field{"features", &Arrays::features}, Field{"values", &Arrays::values}, Field{"gold", &Arrays::gold},
               Field{"feature_count", &Arrays::feature_count}, Field{"label_count", &Arrays::label_count});
  bind_options(module, "SequenceOptions", Field{"start_end", &SequenceOptions::start_end},
               Field{"label_costs", &SequenceOptions::label_costs}, Field{"forbidden", &SequenceOptions::forbidden});
  nb::class_<SequenceTask, Task>(module, "SequenceTask")
      .def("__init__", &make_task, nb::arg("data"), nb::arg("options"), nb::keep_alive<1, 2>())
      .def_static("weight_rows", &SequenceTask::weight_rows, nb::arg("feature_count"), nb::arg("label_count"))
      .def_prop_ro("stride", &SequenceTask::stride)
      .def_prop_ro("start_row", &SequenceTask::start_row)
      .def_prop_ro("first_feature_row", &SequenceTask::first_feature_row)
      .def_prop_ro("bytes_per_label", &SequenceTask::bytes_per_label);
}

const TaskBinding binding(bind);

}  // namespace
}  // namespace marginloom::python
