// The task of labelling sequences, for Python.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "bindings/bindings.hpp"
#include "bindings/inputs.hpp"
#include "bindings/structs.hpp"
#include "core/common.hpp"
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
  OptionalArray<std::uint8_t> kinds = {};
  OptionalArray<std::uint8_t> allowed = {};

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
            .histories = histories,
            .kinds = view_or_empty(kinds),
            .allowed = view_or_empty(allowed)};
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

// Runs of tokens, each with a set of labels: what the probability is asked of that all have one of theirs.
struct LabelRuns {
  InputArray<std::uint64_t> sentences = {};  // of every run, ascending
  InputArray<std::uint64_t> firsts = {};     // its first token, counted in the sentence
  InputArray<std::uint64_t> bounds = {};     // where its tokens are in `sets`
  InputArray<std::uint32_t> sets = {};       // of the tokens of all runs
  InputArray<std::uint64_t> set_bounds = {};
  InputArray<LabelIndex> labels = {};  // of all sets
};

void check_runs(const SequenceTask& task, const LabelRuns& runs) {
  const auto bounds = view(runs.bounds), set_bounds = view(runs.set_bounds);
  const std::size_t count = runs.sentences.size();
  const bool fits = runs.firsts.size() == count && bounds.size() == count + 1 && std::ranges::is_sorted(bounds) &&
                    bounds.back() == runs.sets.size() && !set_bounds.empty() && std::ranges::is_sorted(set_bounds) &&
                    set_bounds.back() == runs.labels.size() && std::ranges::is_sorted(view(runs.sentences));
  require(fits, "the arrays of runs differ in length");
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t i = view(runs.sentences)[k];
    require(i < task.size() && view(runs.firsts)[k] + (bounds[k + 1] - bounds[k]) <= task.length(i),
            "a run is beyond its sentence");
  }
  require(std::ranges::all_of(view(runs.sets), [&](std::uint32_t set) { return set + 1 < set_bounds.size(); }),
          "a run names a set of labels that is not there");
  require(std::ranges::all_of(view(runs.labels), [&](LabelIndex y) { return y < task.choice_count(0); }),
          "a label of a run is beyond the last one");
}

OutputArray<double> run_probabilities(const SequenceTask& task, const InputArray<double>& weights, double scale,
                                      const LabelRuns& runs) {
  require_weights(task, weights);
  check_runs(task, runs);
  require(scale > 0 && std::isfinite(scale), "inverse temperatures must be positive and finite");
  const auto set_bounds = view(runs.set_bounds);
  std::vector<double> result(runs.sentences.size());
  interruptible([&](StopRequest& stop) {
    const auto scratch = task.make_scratch();
    std::vector<PathMarginals::Labels> tokens;
    for (std::size_t k = 0; k < result.size(); ++k) {
      stop.check();
      const std::size_t i = view(runs.sentences)[k];
      if (k == 0 || i != view(runs.sentences)[k - 1]) {
        task.score_choices(i, view(weights), *scratch);
        task.marginals(i, {scale, {}}, {}, *scratch);
      }
      tokens.clear();
      for (std::size_t t = view(runs.bounds)[k]; t < view(runs.bounds)[k + 1]; ++t) {
        const std::size_t set = view(runs.sets)[t];
        tokens.push_back(view(runs.labels).subspan(set_bounds[set], set_bounds[set + 1] - set_bounds[set]));
      }
      result[k] = std::exp(SequenceTask::log_probability_of_run(view(runs.firsts)[k], tokens, *scratch));
    }
  });
  return to_numpy(std::move(result));
}

void make_task(SequenceTask* self, const SequenceArrays& arrays, SequenceOptions options,
               const LabelHistories* histories, const std::string& update) {
  const auto* word = std::ranges::find(prefix_update_words, update, [](const auto& pair) { return pair.first; });
  if (word == prefix_update_words.end()) throw std::invalid_argument("there is no update '" + update + "'");
  options.update = word->second;
  new (self) SequenceTask(arrays.data(histories), std::move(options));
}

void bind(nb::module_& module) {
  using Arrays = SequenceArrays;
  bind_options(module, "SequenceData", Field{"sentences", &Arrays::sentences}, Field{"tokens", &Arrays::tokens},
               Field{"features", &Arrays::features}, Field{"values", &Arrays::values}, Field{"gold", &Arrays::gold},
               Field{"feature_count", &Arrays::feature_count}, Field{"label_count", &Arrays::label_count},
               Field{"observation_offsets", &Arrays::observation_offsets}, Field{"observations", &Arrays::observations},
               Field{"kinds", &Arrays::kinds}, Field{"allowed", &Arrays::allowed});
  bind_options(module, "LabelHistoryData", Field{"observations", &HistoryArrays::observations},
               Field{"histories", &HistoryArrays::histories}, Field{"labels", &HistoryArrays::labels},
               Field{"label_count", &HistoryArrays::label_count}, Field{"triples", &HistoryArrays::triples});
  nb::class_<LabelHistories>(module, "LabelHistories")
      .def("__init__", &make_histories, nb::arg("data"), nb::keep_alive<1, 2>())
      .def("__len__", &LabelHistories::size);
  bind_options(module, "SequenceOptions", Field{"start_end", &SequenceOptions::start_end},
               Field{"label_costs", &SequenceOptions::label_costs}, Field{"forbidden", &SequenceOptions::forbidden},
               Field{"order", &SequenceOptions::order}, Field{"beam", &SequenceOptions::beam});
  using Runs = LabelRuns;
  bind_options(module, "LabelRuns", Field{"sentences", &Runs::sentences}, Field{"firsts", &Runs::firsts},
               Field{"bounds", &Runs::bounds}, Field{"sets", &Runs::sets}, Field{"set_bounds", &Runs::set_bounds},
               Field{"labels", &Runs::labels});
  nb::class_<SequenceTask, Task>(module, "SequenceTask")
      .def("__init__", &make_task, nb::arg("data"), nb::arg("options"), nb::arg("histories").none(), nb::arg("update"),
           nb::keep_alive<1, 2>(), nb::keep_alive<1, 4>())
      .def_static("weight_rows", &SequenceTask::weight_rows, nb::arg("feature_count"), nb::arg("label_count"))
      .def("run_probabilities", &run_probabilities, nb::arg("weights"), nb::arg("scale"), nb::arg("runs"))
      .def_prop_ro("stride", &SequenceTask::stride)
      .def_prop_ro("start_row", &SequenceTask::start_row)
      .def_prop_ro("first_feature_row", &SequenceTask::first_feature_row)
      .def_prop_ro("first_combination", &SequenceTask::first_combination)
      .def_prop_ro("bytes_per_label", &SequenceTask::bytes_per_label);
}

const TaskBinding binding(bind);

}  // namespace
}  // namespace marginloom::python
