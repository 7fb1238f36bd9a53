// The detection task.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "tasks/detection/detection.hpp"

namespace marginloom::python {
namespace {

void make_task(DetectionTask* self, const InputArray<float>& pixels, const InputArray<std::uint32_t>& heights,
               const InputArray<std::uint32_t>& widths, const std::optional<InputArray<std::uint32_t>>& gold,
               std::size_t channels, std::size_t label_count,
               const std::vector<std::pair<std::uint32_t, std::uint32_t>>& sizes, bool bias,
               std::vector<std::uint32_t> loss_tables, const InputArray<double>& losses, double overlap) {
  DetectionData data;
  data.pixels = view(pixels);
  data.heights = view(heights);
  data.widths = view(widths);
  if (gold) data.gold = view(*gold);
  data.channels = channels;
  data.label_count = label_count;
  DetectionOptions options;
  for (const auto& [height, width] : sizes) options.sizes.push_back({height, width});
  options.bias = bias;
  options.loss_tables = std::move(loss_tables);
  options.losses.assign(losses.data(), losses.data() + losses.size());
  options.overlap = overlap;
  new (self) DetectionTask(data, std::move(options));
}

void bind(nb::module_& module) {
  nb::class_<DetectionTask, Task>(module, "DetectionTask")
      .def("__init__", &make_task, nb::arg("pixels"), nb::arg("heights"), nb::arg("widths"), nb::arg("gold").none(),
           nb::arg("channels"), nb::arg("label_count"), nb::arg("sizes"), nb::arg("bias"), nb::arg("loss_tables"),
           nb::arg("losses"), nb::arg("overlap"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
           nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>());
}

const TaskBinding binding(bind);

}  // namespace
}  // namespace marginloom::python
