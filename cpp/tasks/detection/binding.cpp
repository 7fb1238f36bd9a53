// The detection task.
#include <nanobind/stl/pair.h>

#include <utility>

#include "bindings/bindings.hpp"
#include "bindings/inputs.hpp"
#include "bindings/structs.hpp"
#include "tasks/detection/detection.hpp"

namespace marginloom::python {
namespace {

// DetectionData as arrays, which it keeps.
struct DetectionArrays {
  InputArray<float> pixels = {};
  InputArray<std::uint32_t> heights = {};
  InputArray<std::uint32_t> widths = {};
  OptionalArray<std::uint32_t> gold = {};
  std::size_t channels = 0;
  std::size_t label_count = 0;

  [[nodiscard]] DetectionData data() const {
    return {.pixels = view(pixels),
            .heights = view(heights),
            .widths = view(widths),
            .gold = view_or_empty(gold),
            .channels = channels,
            .label_count = label_count};
  }
};

// Sizes are pairs for Python, and the losses, of which there can be millions, one array.
void make_options(DetectionOptions* self, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& sizes, bool bias,
                  std::vector<std::uint32_t> loss_tables, const InputArray<double>& losses, double overlap) {
  new (self) DetectionOptions{.sizes = {},
                              .bias = bias,
                              .loss_tables = std::move(loss_tables),
                              .losses = {view(losses).begin(), view(losses).end()},
                              .overlap = overlap};
  for (const auto& [height, width] : sizes) self->sizes.push_back({height, width});
}

void make_task(DetectionTask* self, const DetectionArrays& arrays, DetectionOptions options) {
  new (self) DetectionTask(arrays.data(), std::move(options));
}

void bind(nb::module_& module) {
  using Arrays = DetectionArrays;
  bind_options(module, "DetectionData", Field{"pixels", &Arrays::pixels}, Field{"heights", &Arrays::heights},
               Field{"widths", &Arrays::widths}, Field{"gold", &Arrays::gold}, Field{"channels", &Arrays::channels},
               Field{"label_count", &Arrays::label_count});
  nb::class_<DetectionOptions>(module, "DetectionOptions")
      .def("__init__", &make_options, nb::kw_only(), nb::arg("sizes"), nb::arg("bias"), nb::arg("loss_tables"),
           nb::arg("losses"), nb::arg("overlap"));
  bind_result(module, "WindowWeight", Field{"label", &WindowWeight::label}, Field{"size", &WindowWeight::size},
              Field{"constant", &WindowWeight::constant}, Field{"channel", &WindowWeight::channel},
              Field{"row", &WindowWeight::row}, Field{"column", &WindowWeight::column});
  nb::class_<DetectionTask, Task>(module, "DetectionTask")
      .def("__init__", &make_task, nb::arg("data"), nb::arg("options"), nb::keep_alive<1, 2>())
      .def(
          "describe",
          [](const DetectionTask& self, std::size_t weight) {
            if (weight >= self.dimension()) throw nb::index_error("there is no such weight");
            return self.describe(weight);
          },
          nb::arg("weight"));
}

const TaskBinding binding(bind);

}  // namespace
}  // namespace marginloom::python
