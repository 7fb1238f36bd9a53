// Files in LIBSVM's format.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "bindings/bindings.hpp"
#include "bindings/structs.hpp"
#include "io/libsvm.hpp"

namespace marginloom::python {
namespace {

// LibsvmRows as arrays.
struct LibsvmArrays {
  OutputArray<std::uint64_t> offsets;
  OutputArray<std::int32_t> indices;
  OutputArray<double> values;
  OutputArray<std::uint64_t> label_offsets;
  OutputArray<std::uint32_t> label_numbers;
  std::vector<std::string> label_names;
  OutputArray<std::uint64_t> lines;
  OutputArray<std::int64_t> groups;
};

LibsvmArrays parse(const nb::bytes& text, const std::string& name, std::size_t first_line) {
  LibsvmRows rows = interruptible([&](StopRequest& stop) {
    return parse_libsvm({static_cast<const char*>(text.data()), text.size()}, name, first_line, stop);
  });
  std::vector<std::string> names;
  for (std::size_t i = 0; i < rows.names.size(); ++i) names.emplace_back(rows.names.name(i));
  return {.offsets = to_numpy(std::move(rows.offsets)),
          .indices = to_numpy(std::move(rows.indices)),
          .values = to_numpy(std::move(rows.values)),
          .label_offsets = to_numpy(std::move(rows.label_offsets)),
          .label_numbers = to_numpy(std::move(rows.labels)),
          .label_names = std::move(names),
          .lines = to_numpy(std::move(rows.lines)),
          .groups = to_numpy(std::move(rows.groups))};
}

template <class Value>
nb::bytes format(const std::vector<std::string>& labels, const InputArray<std::uint64_t>& offsets,
                 const InputArray<std::int32_t>& indices, const InputArray<Value>& values) {
  const std::span<const std::uint64_t> bounds = view(offsets);
  if (bounds.size() != labels.size() + 1 || !std::ranges::is_sorted(bounds) || bounds.back() > indices.size() ||
      indices.size() != values.size()) {
    throw std::invalid_argument("the offsets do not fit the labels and entries");
  }
  const std::vector<std::string_view> fields(labels.begin(), labels.end());
  std::string text;
  {
    const nb::gil_scoped_release release;
    text = format_libsvm<Value>(fields, bounds, view(indices), view(values));
  }
  return nb::bytes(text.data(), text.size());
}

}  // namespace

void bind_libsvm(nb::module_& module) {
  bind_result(module, "LibsvmTable", Field{"offsets", &LibsvmArrays::offsets}, Field{"indices", &LibsvmArrays::indices},
              Field{"values", &LibsvmArrays::values}, Field{"label_offsets", &LibsvmArrays::label_offsets},
              Field{"label_numbers", &LibsvmArrays::label_numbers}, Field{"label_names", &LibsvmArrays::label_names},
              Field{"lines", &LibsvmArrays::lines}, Field{"groups", &LibsvmArrays::groups});
  module.def("parse_libsvm", &parse, nb::arg("text"), nb::arg("name"), nb::arg("first_line"));
  module.def("format_libsvm", &format<float>, nb::arg("labels"), nb::arg("offsets"), nb::arg("indices"),
             nb::arg("values"));
  module.def("format_libsvm", &format<double>, nb::arg("labels"), nb::arg("offsets"), nb::arg("indices"),
             nb::arg("values"));
}

}  // namespace marginloom::python
