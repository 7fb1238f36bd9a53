// What the files of the Python module share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/parallel.hpp"
#include "core/task.hpp"
#include "features/vocabulary.hpp"

namespace marginloom::python {

namespace nb = nanobind;

template <class T>
using InputArray = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
using OutputArray = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <class T>
[[nodiscard]] std::span<const T> view(const InputArray<T>& array) {
  return {array.data(), array.size()};
}

// A numpy array that owns the vector's memory.
template <class T>
[[nodiscard]] OutputArray<T> to_numpy(std::vector<T> values) {
  auto* owned = new std::vector<T>(std::move(values));
  const nb::capsule owner(owned, [](void* memory) noexcept { delete static_cast<std::vector<T>*>(memory); });
  return OutputArray<T>(owned->data(), {owned->size()}, owner);
}

// What a signal handler sets that wants long work to stop without an exception.
class StopFlag {
 public:
  void set() { set_ = true; }
  [[nodiscard]] bool is_set() const { return set_; }

 private:
  std::atomic<bool> set_{false};
};

// Lets Python's signal handlers run while C++ computes without the GIL. Ctrl-C stops the computation, as an exception
// or through a flag that the handler sets; any other exception of a handler is rethrown by finish().
class PythonSignals {
 public:
  explicit PythonSignals(const StopFlag* flag = nullptr) : flag_(flag) {}

  [[nodiscard]] StopRequest request() {
    return StopRequest([this] { return check(); });
  }
  // One that also calls a function of Python's with how much is done and how much there is, unless it is None.
  [[nodiscard]] StopRequest request(nb::handle progress);
  void finish();              // call with the GIL held
  [[noreturn]] void raise();  // what has stopped the work; call with the GIL held

 private:
  bool check();
  void tell(nb::handle progress, std::size_t done, std::size_t total);
  const StopFlag* flag_;
  std::optional<nb::python_error> error_;
};

// Does work(stop), which throws Interrupted when it is stopped, and raises what a signal handler has raised meanwhile.
// With the GIL held where the work needs it.
template <class Work>
auto interruptible(Work work, bool holding_gil = false) {
  PythonSignals signals;
  StopRequest stop = signals.request();
  try {
    const Listening listening(stop);
    std::optional<nb::gil_scoped_release> release;
    if (!holding_gil) release.emplace();
    return work(stop);
  } catch (const Interrupted&) {
    signals.raise();
  }
}

// For loops over Python objects: lets signal handlers run, and throws what they raise.
inline void check_signals() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// The text of a str; the view lives as long as the str.
[[nodiscard]] std::string_view text_of(nb::handle text);

// The labels of numbers, one per token; the views live as long as `labels`.
[[nodiscard]] std::vector<std::string_view> label_names(const Vocabulary& labels,
                                                        const InputArray<std::uint16_t>& numbers, std::size_t count);

// What users see as examples (Task::examples_per_row) that a learner is to visit; std::invalid_argument if one is not
// there, or has no right output.
[[nodiscard]] std::vector<std::size_t> checked_rows(const Task& task, const InputArray<std::uint64_t>& rows);

// std::invalid_argument if there are not as many weights as the task has.
void require_weights(const Task& task, const InputArray<double>& weights);

// Costs or weights of rows; std::invalid_argument if one is negative or not finite.
[[nodiscard]] std::vector<double> checked_numbers(const InputArray<double>& numbers);

// Adds a task to the module. A task's binding.cpp has one of these and is named nowhere else.
class TaskBinding {
 public:
  using Bind = void (*)(nb::module_&);
  explicit TaskBinding(Bind bind);
};

void bind_attributes(nb::module_& module);
void bind_text(nb::module_& module);
void bind_libsvm(nb::module_& module);
void bind_features(nb::module_& module);
void bind_tasks(nb::module_& module);
void bind_marginals(nb::module_& module, nb::class_<Task>& task);
void bind_training(nb::module_& module);
void bind_learners(nb::module_& module);
void bind_engines(nb::module_& module);

}  // namespace marginloom::python
