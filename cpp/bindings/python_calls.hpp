// Calls into Python that threads make side by side: an interruption of one is one of all.
#pragma once

#include "core/interruption.hpp"

namespace marginloom::python {

// Notes that this thread calls into Python until the end of a block, for what it listens to. With the GIL held, as the
// functions below.
class PythonCall {
 public:
  PythonCall();
  ~PythonCall();
  PythonCall(const PythonCall&) = delete;
  PythonCall& operator=(const PythonCall&) = delete;
};

// Raises KeyboardInterrupt in the calls of other threads that listen to the same as this one: Python's signal handlers
// run in the main thread only, which may be waiting for them.
void interrupt_other_calls();

}  // namespace marginloom::python
