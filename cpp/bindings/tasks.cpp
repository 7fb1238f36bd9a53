// Tasks, and prediction with them.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <limits>
#include <stdexcept>

#include "bindings/bindings.hpp"
#include "bindings/inputs.hpp"
#include "bindings/structs.hpp"
#include "bindings/weights_for_python.hpp"
#include "core/scored_task.hpp"
#include "core/stopwatch.hpp"
#include "core/task.hpp"
#include "core/weight_rows.hpp"

namespace marginloom::python {
namespace {

std::vector<std::string> capability_names(const Task& task) {
  const Capabilities can = task.capabilities();
  std::vector<std::string> names;
  const auto add = [&](bool present, const char* name) {
    if (present) names.emplace_back(name);
  };
  add(can.gold, "gold");
  add(can.exact, "exact");
  add(can.bounded, "bounded");
  add(can.loss_augmented, "loss-augmented");
  add(can.k_best, "k-best");
  add(task.implicit() != nullptr, "implicit");
  add(can.lists_outputs, "lists-outputs");
  add(can.factored, "factored");
  add(can.prefixes, "prefixes");
  const auto* scored = dynamic_cast<const ScoredTask*>(&task);
  const auto decisions = scored ? scored->decision_form() : std::nullopt;
  add(decisions && decisions->independent, "decisions");
  add(decisions && decisions->independent && decisions->columns_per_example == 1, "own-slacks");
  add(can.needs_gil, "needs-GIL");
  return names;
}

// The k best outputs of every example.
struct Predictions {
  OutputArray<std::uint8_t> outputs;         // the bytes of all of them in a row
  OutputArray<std::uint64_t> output_bounds;  // where each output begins, and where the last one ends
  OutputArray<double> scores;
  OutputArray<std::uint64_t> example_bounds;  // the same of every example's outputs
};

// A candidate with copies of its parts.
struct OwnedCandidate {
  double loss;
  double squared_norm;
  nb::bytes output;
  bool implicit;  // without indices and values, then
  OutputArray<std::uint32_t> indices;
  OutputArray<double> values;
};

// What a search for the most violated outputs brought.
struct Found {
  double bound;  // of the largest violation
  std::vector<OwnedCandidate> candidates;
};

Predictions together(const std::vector<std::vector<Output>>& outputs) {
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint64_t> output_bounds{0};
  std::vector<double> scores;
  std::vector<std::uint64_t> example_bounds{0};
  for (const auto& best : outputs) {
    for (const Output& output : best) {
      bytes.insert(bytes.end(), output.bytes.begin(), output.bytes.end());
      output_bounds.push_back(bytes.size());
      scores.push_back(output.score);
    }
    example_bounds.push_back(scores.size());
  }
  return {.outputs = to_numpy(std::move(bytes)),
          .output_bounds = to_numpy(std::move(output_bounds)),
          .scores = to_numpy(std::move(scores)),
          .example_bounds = to_numpy(std::move(example_bounds))};
}

Predictions predict(const Task& task, const InputArray<double>& weights, int threads, int k) {
  require_weights(task, weights);
  if (k < 1 || (k > 1 && !task.capabilities().k_best)) throw std::invalid_argument("this task has no k-best inference");
  constexpr std::size_t chunk = 8;  // sentences may be long, and Ctrl-C is heard between chunks
  std::vector<std::vector<Output>> outputs(task.size());
  const WeightsForPython weights_for_python(view(weights), std::make_shared<InputArray<double>>(weights));
  PythonSignals signals;
  StopRequest stop = signals.request();
  bool complete = false;
  {
    const nb::gil_scoped_release release;
    std::vector<std::unique_ptr<Scratch>> scratch(static_cast<std::size_t>(std::max(threads, 1)));
    complete = parallel_for(task.size(), chunk, threads, stop, [&](int thread, std::size_t begin, std::size_t end) {
      auto& own = scratch[static_cast<std::size_t>(thread)];
      if (!own) own = task.make_scratch();
      std::vector<std::size_t> examples;
      for (std::size_t i = begin; i < end; ++i) examples.push_back(i);
      task.predict_batch(examples, view(weights), k, *own, std::span(outputs).subspan(begin, end - begin));
    });
  }
  signals.finish();
  if (!complete) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw nb::python_error();
  }
  return together(outputs);
}

OwnedCandidate owned(const Candidate& candidate) {
  std::vector<std::uint32_t> indices;
  std::vector<double> values;
  for (const Entry& entry : candidate.difference) {
    indices.push_back(entry.index);
    values.push_back(entry.value);
  }
  return {.loss = candidate.loss,
          .squared_norm = candidate.squared_norm,
          .output = nb::bytes(candidate.output.data(), candidate.output.size()),
          .implicit = candidate.implicit,
          .indices = to_numpy(std::move(indices)),
          .values = to_numpy(std::move(values))};
}

void require_example(const Task& task, std::size_t i) {
  if (i >= task.size()) throw nb::index_error("there is no such example");
  if (!task.capabilities().gold) throw std::invalid_argument("the examples have no gold outputs");
}

Found find(const Task& task, std::size_t i, const InputArray<double>& weights, double loss_scale, int k,
           double min_violation) {
  require_weights(task, weights);
  require_example(task, i);
  const WeightsForPython weights_for_python(view(weights), std::make_shared<InputArray<double>>(weights));
  Found found;
  FunctionSink sink([&](const Candidate& candidate) { found.candidates.push_back(owned(candidate)); });
  const FindOptions options{.k = k, .loss_scale = loss_scale, .min_violation = min_violation};
  found.bound = task.find(i, view(weights), options, *task.make_scratch(), sink);
  return found;
}

// What each of these searches takes on one thread, as engines make them: candidates are copied, scratch is used again.
OutputArray<double> search_seconds(const Task& task, const InputArray<double>& weights,
                                   const InputArray<std::uint64_t>& examples, double loss_scale) {
  require_weights(task, weights);
  for (const std::uint64_t i : view(examples)) require_example(task, i);
  const WeightsForPython weights_for_python(view(weights), std::make_shared<InputArray<double>>(weights));
  const auto scratch = task.make_scratch();
  CandidateBatch found;
  std::vector<double> seconds;
  Stopwatch watch;
  for (const std::uint64_t i : view(examples)) {
    found.clear();
    task.find(i, view(weights), {.loss_scale = loss_scale}, *scratch, found);
    seconds.push_back(watch.lap());
  }
  return to_numpy(std::move(seconds));
}

std::optional<OwnedCandidate> candidate(const Task& task, std::size_t i, const nb::bytes& output) {
  require_example(task, i);
  std::optional<OwnedCandidate> result;
  FunctionSink sink([&](const Candidate& candidate) { result = owned(candidate); });
  const ByteView bytes(static_cast<const std::uint8_t*>(output.data()), output.size());
  return task.candidate(i, bytes, *task.make_scratch(), sink) ? result : std::nullopt;
}

void bind_found(nb::module_& module) {
  bind_result(module, "Predictions", Field{"outputs", &Predictions::outputs},
              Field{"output_bounds", &Predictions::output_bounds}, Field{"scores", &Predictions::scores},
              Field{"example_bounds", &Predictions::example_bounds});
  bind_result(module, "Candidate", Field{"loss", &OwnedCandidate::loss},
              Field{"squared_norm", &OwnedCandidate::squared_norm}, Field{"output", &OwnedCandidate::output},
              Field{"implicit", &OwnedCandidate::implicit}, Field{"indices", &OwnedCandidate::indices},
              Field{"values", &OwnedCandidate::values});
  bind_result(module, "Found", Field{"bound", &Found::bound}, Field{"candidates", &Found::candidates});
}

void bind_inputs(nb::module_& module) {
  bind_options(module, "WeightRows", Field{"count", &WeightRows::count}, Field{"columns", &WeightRows::columns})
      .def_prop_ro("stride", &WeightRows::stride);
  bind_options(module, "InputRows", Field{"rows", &InputRows::rows}, Field{"columns", &InputRows::columns},
               Field{"offsets", &InputRows::offsets}, Field{"indices", &InputRows::indices},
               Field{"singles", &InputRows::singles}, Field{"doubles", &InputRows::doubles},
               Field{"bias", &InputRows::bias})
      .def(
          "weight_rows",
          [](const InputRows& self, std::size_t labels) { return WeightRows{self.data().width(), labels}; },
          nb::arg("labels"));
}

// Those that the bindings of tasks have brought along.
std::vector<TaskBinding::Bind>& task_bindings() {
  static std::vector<TaskBinding::Bind> bindings;
  return bindings;
}

}  // namespace

void require_weights(const Task& task, const InputArray<double>& weights) {
  if (weights.size() != task.dimension()) {
    throw std::invalid_argument("the task has " + std::to_string(task.dimension()) + " weights, not " +
                                std::to_string(weights.size()));
  }
}

TaskBinding::TaskBinding(Bind bind) {
  task_bindings().push_back(bind);
}

void bind_tasks(nb::module_& module) {
  bind_found(module);
  bind_inputs(module);
  nb::class_<Task> bound(module, "Task");
  bound.def_prop_ro("size", &Task::size)
      .def_prop_ro("dimension", &Task::dimension)
      .def_prop_ro("examples_per_row", &Task::examples_per_row)
      .def_prop_ro("capabilities", &capability_names)
      .def("work",
           [](const Task& self, std::size_t i) {
             if (i >= self.size()) throw nb::index_error("there is no such example");
             return self.work(i);
           })
      .def("predict", &predict, nb::arg("weights"), nb::arg("threads") = 1, nb::arg("k") = 1)
      .def("find", &find, nb::arg("example"), nb::arg("weights"), nb::arg("loss_scale") = 1.0, nb::arg("k") = 1,
           nb::arg("min_violation") = -std::numeric_limits<double>::infinity())
      .def("search_seconds", &search_seconds, nb::arg("weights"), nb::arg("examples"), nb::arg("loss_scale") = 1.0)
      .def("candidate", &candidate, nb::arg("example"), nb::arg("output"));
  bind_marginals(module, bound);
  for (const auto bind : task_bindings()) bind(module);
}

}  // namespace marginloom::python
