// Files of ready features.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "bindings/bindings.hpp"
#include "bindings/token_arrays.hpp"
#include "features/vocabulary.hpp"
#include "io/attribute_table.hpp"

namespace marginloom::python {
namespace {

OutputArray<std::uint32_t> encode_labels(const AttributeTable& table, Vocabulary& vocabulary, bool grow) {
  // A vocabulary that does not grow may serve several threads at once; one that grows is guarded by the GIL.
  auto encode = [&](StopRequest& stop) { return table.encode_labels(vocabulary, grow, stop); };
  return to_numpy(interruptible(encode, grow));
}

TokenArrays encode_attributes(const AttributeTable& table, Vocabulary& vocabulary, bool grow) {
  auto encode = [&](StopRequest& stop) { return table.encode_attributes(vocabulary, grow, stop); };
  return to_arrays(table.sentences(), interruptible(encode, grow));
}

std::vector<std::pair<std::string, double>> attributes(const AttributeTable& table, std::size_t token) {
  if (token >= table.tokens()) throw nb::index_error("beyond the table");
  std::vector<std::pair<std::string, double>> found;
  std::string buffer;
  table.visit_attributes(token, buffer,
                         [&](const Attribute& attribute) { found.emplace_back(attribute.name, attribute.value); });
  return found;
}

nb::bytes with_labels(const AttributeTable& table, const Vocabulary& labels, const InputArray<std::uint16_t>& numbers) {
  const std::vector<std::string_view> names = label_names(labels, numbers, table.tokens());
  std::string text;
  {
    const nb::gil_scoped_release release;
    text = table.with_labels(names);
  }
  return nb::bytes(text.data(), text.size());
}

}  // namespace

void bind_attributes(nb::module_& module) {
  nb::class_<AttributeTable>(module, "AttributeTable")
      .def("__init__",
           [](AttributeTable* self, const nb::bytes& text, const std::string& name, std::size_t first_line) {
             std::string owned(static_cast<const char*>(text.data()), text.size());
             interruptible(
                 [&](StopRequest& stop) { new (self) AttributeTable(std::move(owned), name, first_line, stop); });
           })
      .def_prop_ro("name", &AttributeTable::name)
      .def_prop_ro("tokens", &AttributeTable::tokens)
      .def_prop_ro("memory", &AttributeTable::bytes)
      .def("sentences", [](const AttributeTable& self) { return to_numpy(self.sentences()); })
      .def("weights", [](const AttributeTable& self) { return to_numpy(self.weights()); })
      .def("line_number",
           [](const AttributeTable& self, std::size_t token) {
             if (token >= self.tokens()) throw nb::index_error("beyond the table");
             return self.line_number(token);
           })
      .def("attributes", &attributes, nb::arg("token"))
      .def("encode_labels", &encode_labels, nb::arg("vocabulary"), nb::arg("grow"))
      .def("encode_attributes", &encode_attributes, nb::arg("vocabulary"), nb::arg("grow"))
      .def("with_labels", &with_labels, nb::arg("labels"), nb::arg("numbers"));
}

}  // namespace marginloom::python
