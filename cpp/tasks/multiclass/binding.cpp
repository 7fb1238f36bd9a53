// The multiclass task.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/inputs.hpp"
#include "tasks/multiclass/multiclass.hpp"

namespace marginloom::python {
namespace {

void make_task(MulticlassTask* self, const InputRows& inputs, const OptionalArray<std::uint32_t>& gold,
               std::size_t class_count, std::vector<double> costs) {
  new (self) MulticlassTask(inputs.data(), view_or_empty(gold), class_count, std::move(costs));
}

// The scores of all classes of all examples, example by example.
OutputArray<double> scores(const MulticlassTask& task, const InputArray<double>& weights, int threads) {
  if (weights.size() != task.dimension()) {
    throw std::invalid_argument("the task has " + std::to_string(task.dimension()) + " weights, not " +
                                std::to_string(weights.size()));
  }
  constexpr std::size_t chunk = 64;
  std::vector<double> result(task.size() * task.class_count());
  PythonSignals signals;
  StopRequest stop = signals.request();
  bool complete = false;
  {
    const nb::gil_scoped_release release;
    std::vector<std::vector<double>> scores(static_cast<std::size_t>(std::max(threads, 1)));
    complete = parallel_for(task.size(), chunk, threads, stop, [&](int thread, std::size_t begin, std::size_t end) {
      std::vector<std::size_t> examples(end - begin);
      std::iota(examples.begin(), examples.end(), begin);
      auto& padded = scores[static_cast<std::size_t>(thread)];
      padded.resize(chunk * task.stride());
      task.score_batch(examples, view(weights), padded.data());
      for (const std::size_t i : examples) {
        std::copy_n(padded.data() + (i - begin) * task.stride(), task.class_count(),
                    result.data() + i * task.class_count());
      }
    });
  }
  signals.finish();
  if (!complete) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw nb::python_error();
  }
  return to_numpy(std::move(result));
}

void bind(nb::module_& module) {
  nb::class_<MulticlassTask, Task>(module, "MulticlassTask")
      .def("__init__", &make_task, nb::arg("inputs"), nb::arg("gold").none().noconvert(), nb::arg("class_count"),
           nb::arg("costs"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
      .def("scores", &scores, nb::arg("weights"), nb::arg("threads") = 1)
      .def_prop_ro("stride", &MulticlassTask::stride);
}

const TaskBinding binding(bind);

}  // namespace
}  // namespace marginloom::python
