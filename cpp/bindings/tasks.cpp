// Tasks, and prediction with them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <stdexcept>

#include "bindings/bindings.hpp"
#include "bindings/lent_weights.hpp"
#include "core/kernels.hpp"
#include "core/task.hpp"

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
  add(can.implicit, "implicit");
  add(can.lists_outputs, "lists-outputs");
  add(can.factored, "factored");
  add(can.needs_gil, "needs-GIL");
  return names;
}

void require_weights(const Task& task, const InputArray<double>& weights) {
  if (weights.size() != task.dimension()) {
    throw std::invalid_argument("the task has " + std::to_string(task.dimension()) + " weights, not " +
                                std::to_string(weights.size()));
  }
}

// The k best outputs of every example: all bytes, where each output's begin, the scores, and where each example's
// outputs begin.
nb::object predict(const Task& task, const InputArray<double>& weights, int threads, int k) {
  require_weights(task, weights);
  if (k < 1 || (k > 1 && !task.capabilities().k_best)) throw std::invalid_argument("this task has no k-best inference");
  constexpr std::size_t chunk = 8;  // sentences may be long, and Ctrl-C is heard between chunks
  std::vector<std::vector<Output>> outputs(task.size());
  const LentWeights lent(view(weights), std::make_shared<InputArray<double>>(weights));
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
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint64_t> offsets{0};
  std::vector<double> scores;
  std::vector<std::uint64_t> examples{0};
  for (const auto& best : outputs) {
    for (const Output& output : best) {
      bytes.insert(bytes.end(), output.bytes.begin(), output.bytes.end());
      offsets.push_back(bytes.size());
      scores.push_back(output.score);
    }
    examples.push_back(scores.size());
  }
  return nb::make_tuple(to_numpy(std::move(bytes)), to_numpy(std::move(offsets)), to_numpy(std::move(scores)),
                        to_numpy(std::move(examples)));
}

nb::dict to_dict(const Candidate& candidate) {
  std::vector<std::uint32_t> indices;
  std::vector<float> values;
  for (const Entry& entry : candidate.difference) {
    indices.push_back(entry.index);
    values.push_back(entry.value);
  }
  nb::dict result;
  result["loss"] = candidate.loss;
  result["squared_norm"] = candidate.squared_norm;
  result["output"] = nb::bytes(candidate.output.data(), candidate.output.size());
  result["implicit"] = candidate.implicit;
  result["indices"] = to_numpy(std::move(indices));
  result["values"] = to_numpy(std::move(values));
  return result;
}

void require_example(const Task& task, std::size_t i) {
  if (i >= task.size()) throw nb::index_error("there is no such example");
  if (!task.capabilities().gold) throw std::invalid_argument("the examples have no gold outputs");
}

nb::object find(const Task& task, std::size_t i, const InputArray<double>& weights, double loss_scale, int k,
                double min_violation, bool every) {
  require_weights(task, weights);
  require_example(task, i);
  const LentWeights lent(view(weights), std::make_shared<InputArray<double>>(weights));
  nb::list candidates;
  FunctionSink sink([&](const Candidate& candidate) { candidates.append(to_dict(candidate)); });
  if (every && !task.capabilities().lists_outputs) throw std::invalid_argument("this task cannot list its outputs");
  const FindOptions options{.k = k, .loss_scale = loss_scale, .min_violation = min_violation, .every = every};
  const double bound = task.find(i, view(weights), options, *task.make_scratch(), sink);
  return nb::make_tuple(bound, candidates);
}

nb::object candidate(const Task& task, std::size_t i, const nb::bytes& output) {
  require_example(task, i);
  nb::object result;
  FunctionSink sink([&](const Candidate& candidate) { result = to_dict(candidate); });
  const ByteView bytes(static_cast<const std::uint8_t*>(output.data()), output.size());
  return task.candidate(i, bytes, *task.make_scratch(), sink) ? result : nb::none();
}

// Those that the bindings of tasks have brought along.
std::vector<TaskBinding::Bind>& task_bindings() {
  static std::vector<TaskBinding::Bind> bindings;
  return bindings;
}

}  // namespace

TaskBinding::TaskBinding(Bind bind) {
  task_bindings().push_back(bind);
}

void bind_tasks(nb::module_& module) {
  module.def("padded", &padded, nb::arg("columns"), "Numbers that a row of weights takes for so many labels.");
  nb::class_<Task>(module, "Task")
      .def_prop_ro("size", &Task::size)
      .def_prop_ro("dimension", &Task::dimension)
      .def_prop_ro("capabilities", &capability_names)
      .def("work",
           [](const Task& self, std::size_t i) {
             if (i >= self.size()) throw nb::index_error("there is no such example");
             return self.work(i);
           })
      .def("predict", &predict, nb::arg("weights"), nb::arg("threads") = 1, nb::arg("k") = 1)
      .def("find", &find, nb::arg("example"), nb::arg("weights"), nb::arg("loss_scale") = 1.0, nb::arg("k") = 1,
           nb::arg("min_violation") = -std::numeric_limits<double>::infinity(), nb::arg("every") = false)
      .def("candidate", &candidate, nb::arg("example"), nb::arg("output"));
  for (const auto bind : task_bindings()) bind(module);
}

}  // namespace marginloom::python
