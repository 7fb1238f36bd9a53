#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "tasks/signs/signs.hpp"

namespace signs {
namespace {

void bind(nanobind::module_& module) {
  nanobind::class_<SignTask, Task>(module, "SignTask")
      .def(nanobind::init<std::vector<std::vector<float>>, std::vector<std::uint8_t>>());
}

const marginloom::python::TaskBinding binding(bind);

}  // namespace
}  // namespace signs
