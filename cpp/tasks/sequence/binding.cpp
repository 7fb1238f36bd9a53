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
  OptionalArray<std::uint64_t> observation_offsets = {};
  OptionalArray<std::uint32_t> observations = {};

  [[nodiscard]] SequenceData data(const LabelHistories* histories) const {
    return {.sentences = view(sentences),
            .tokens = view_or_empty(tokens),
            .features = view_or_empty(features),
            .values = view_or_empty(values),
            .gold = view_or_empty(gold),
            .feature_count = feature_count,
            .label_count = label_count,
            .dense = !tokens.has_value(),
            .observation_offsets = view_or_empty(observation_offsets),
            .observations = view_or_empty(observations),
            .histories = histories};
  }
};

// LabelHistoryData as arrays.
struct HistoryArrays {
  InputArray<std::uint64_t> observations = {};
  InputArray<std::uint32_t> histories = {};
  InputArray<LabelIndex> labels = {};
  std::size_t label_count = 0;
  bool triples = false;
};

void make_histories(LabelHistories* self, const HistoryArrays& arrays) {
  new (self) LabelHistories({.observations = view(arrays.observations),
                             .histories = view(arrays.histories),
                             .labels = view(arrays.labels),
                             .label_count = arrays.label_count,
                             .triples = arrays.triples});
}

void make_task(SequenceTask* self, const SequenceArrays& arrays, SequenceOptions options,
               const LabelHistories* histories) {
  new (self) SequenceTask(arrays.data(histories), std::move(options));
}

void bind(nb::module_& module) {
  using Arrays = SequenceArrays;
  bind_options(module, "SequenceData", Field{"sentences", &Arrays::sentences}, Field{"tokens", &Arrays::tokens},
               Field{"features", &Arrays::features}, Field{"values", &Arrays::values}, Field{"gold", &Arrays::gold},
               Field{"feature_count", &Arrays::feature_count}, Field{"label_count", &Arrays::label_count},
               Field{"observation_offsets", &Arrays::observation_offsets},
               Field{"observations", &Arrays::observations});
  bind_options(module, "LabelHistoryData", Field{"observations", &HistoryArrays::observations},
               Field{"histories", &HistoryArrays::histories}, Field{"labels", &HistoryArrays::labels},
               Field{"label_count", &HistoryArrays::label_count}, Field{"triples", &HistoryArrays::triples});
  nb::class_<LabelHistories>(module, "LabelHistories")
      .def("__init__", &make_histories, nb::arg("data"), nb::keep_alive<1, 2>())
      .def("__len__", &LabelHistories::size);
  bind_options(module, "SequenceOptions", Field{"start_end", &SequenceOptions::start_end},
               Field{"label_costs", &SequenceOptions::label_costs}, Field{"forbidden", &SequenceOptions::forbidden});
  nb::class_<SequenceTask, Task>(module, "SequenceTask")
      .def("__init__", &make_task, nb::arg("data"), nb::arg("options"), nb::arg("histories").none(),
           nb::keep_alive<1, 2>(), nb::keep_alive<1, 4>())
      .def_static("weight_rows", &SequenceTask::weight_rows, nb::arg("feature_count"), nb::arg("label_count"))
      .def_prop_ro("stride", &SequenceTask::stride)
      .def_prop_ro("start_row", &SequenceTask::start_row)
      .def_prop_ro("first_feature_row", &SequenceTask::first_feature_row)
      .def_prop_ro("first_combination", &SequenceTask::first_combination)
      .def_prop_ro("bytes_per_label", &SequenceTask::bytes_per_label);
}

const TaskBinding binding(bind);

}  // namespace
}  // namespace marginloom::python
