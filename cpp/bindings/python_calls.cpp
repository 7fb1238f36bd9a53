#include "bindings/python_calls.hpp"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <vector>

namespace marginloom::python {
namespace {

struct Call {
  unsigned long thread;
  const Listening* listening;
};

// Guarded by the GIL.
std::vector<Call>& calls() {
  static std::vector<Call> all;
  return all;
}

}  // namespace

PythonCall::PythonCall() {
  calls().push_back({PyThread_get_thread_ident(), listening_here()});
}

PythonCall::~PythonCall() {
  const unsigned long own = PyThread_get_thread_ident();
  const auto last = std::ranges::find(calls().rbegin(), calls().rend(), own, &Call::thread);
  calls().erase(std::next(last).base());
}

void interrupt_other_calls() {
  const unsigned long own = PyThread_get_thread_ident();
  if (!listening_here()) return;
  for (const Call& call : calls()) {
    if (call.thread == own || call.listening != listening_here()) continue;
    PyThreadState_SetAsyncExc(call.thread, PyExc_KeyboardInterrupt);
  }
}

}  // namespace marginloom::python
