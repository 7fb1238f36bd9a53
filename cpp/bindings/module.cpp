#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <system_error>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "bindings/bindings.hpp"
#include "bindings/python_calls.hpp"
#include "core/kernels.hpp"

namespace marginloom::python {

bool PythonSignals::check() {
  const nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() == 0) return error_ || (flag_ && flag_->is_set());
  error_.emplace();
  interrupt_other_calls();
  return true;
}

StopRequest PythonSignals::request(nb::handle progress) {
  StopRequest stop = request();
  if (progress.is_none()) return stop;
  stop.on_progress([this, progress](std::size_t done, std::size_t total) { tell(progress, done, total); });
  return stop;
}

void PythonSignals::tell(nb::handle progress, std::size_t done, std::size_t total) {
  const nb::gil_scoped_acquire gil;
  if (error_) return;
  try {
    progress(done, total);
  } catch (nb::python_error& error) {
    error_.emplace(std::move(error));
    interrupt_other_calls();
  }
}

void PythonSignals::finish() {
  if (error_ && !error_->matches(PyExc_KeyboardInterrupt)) throw nb::python_error(std::move(*error_));
}

void PythonSignals::raise() {
  if (error_) throw nb::python_error(std::move(*error_));
  PyErr_SetNone(PyExc_KeyboardInterrupt);  // the handler has set a flag instead
  throw nb::python_error();
}

std::string_view text_of(nb::handle text) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (!data) throw nb::python_error();
  return {data, static_cast<std::size_t>(size)};
}

namespace {

std::vector<std::string> kernel_names() {
  const auto names = available_kernels();
  return {names.begin(), names.end()};
}

void check_kernel_choice() {
  const char* wanted = std::getenv("MARGINLOOM_SIMD");
  const auto names = kernel_names();
  if (!wanted || std::ranges::find(names, std::string(wanted)) != names.end()) return;
  std::string message = "MARGINLOOM_SIMD is '" + std::string(wanted) + "'; this machine has:";
  for (const auto& name : names) message += " " + name;
  throw nb::import_error(message.c_str());
}

// Limits of the core that only the data can meet, told by standard errors deep within it, are errors about the input.
void translate_limits(const std::exception_ptr& error, void*) {
  const auto raise = [](const char* what) {
    PyErr_SetString(nb::module_::import_("marginloom.errors").attr("InputError").ptr(), what);
  };
  try {
    std::rethrow_exception(error);
  } catch (const std::overflow_error& limit) {
    raise(limit.what());
  } catch (const std::length_error& limit) {
    raise(limit.what());
  } catch (const std::domain_error& limit) {
    raise(limit.what());
  } catch (const std::system_error& limit) {
    if (limit.code() != std::errc::resource_unavailable_try_again) throw;
    raise("the system has no thread left, or no memory for one; take fewer (n_threads, --threads), or allow more");
  }
}

}  // namespace

// What allocators keep for later after arrays have grown can be as much as the arrays.
void give_back_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace marginloom::python

NB_MODULE(_core, module) {
  using namespace marginloom::python;
  // Objects that live until the interpreter ends, in caches or in tracebacks, are no concern of users.
  nb::set_leak_warnings(false);
  check_kernel_choice();
  nb::register_exception_translator(&translate_limits);
  module.def("simd_available", &kernel_names, "Instruction sets that this machine can use, widest first.");
  module.def("simd_selected", [] { return std::string(marginloom::kernels().name); });
  module.def("simd_select", [](const std::string& name) { return marginloom::select_kernels(name); });
  module.def("give_back_memory", &give_back_memory, "Return freed memory to the system, where it can be asked for.");
  nb::class_<StopFlag>(module, "StopFlag")
      .def(nb::init<>())
      .def("set", &StopFlag::set)
      .def_prop_ro("is_set", &StopFlag::is_set);
  bind_text(module);
  bind_features(module);
  bind_attributes(module);
  bind_libsvm(module);
  bind_tasks(module);
  bind_training(module);
}
