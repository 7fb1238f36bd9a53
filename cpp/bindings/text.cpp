// Vocabularies, column files, and features from Python objects.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>

#include "bindings/bindings.hpp"
#include "bindings/token_arrays.hpp"
#include "bindings/token_encoder.hpp"
#include "features/token_rows.hpp"
#include "features/vocabulary.hpp"
#include "io/column_table.hpp"

namespace marginloom::python {
namespace {

std::string as_string(const nb::bytes& bytes) {
  return {static_cast<const char*>(bytes.data()), bytes.size()};
}

TokenArrays encode_tokens(Vocabulary& vocabulary, nb::handle sentences, bool grow, const nb::bytes& separator) {
  TokenEncoder encoder(vocabulary, grow, as_string(separator));
  for (const nb::handle sentence : sentences) encoder.add_sentence(sentence);
  auto [offsets, rows] = std::move(encoder).finish();
  return to_arrays(std::move(offsets), std::move(rows));
}

// Numbers of single strings: words, or labels.
OutputArray<std::uint32_t> encode_strings(Vocabulary& vocabulary, nb::handle strings, bool grow) {
  std::vector<std::uint32_t> numbers;
  for (const nb::handle text : strings) {
    check_signals();
    if (!PyUnicode_Check(text.ptr())) {
      throw std::invalid_argument("item " + std::to_string(numbers.size()) + " is not a string");
    }
    numbers.push_back(number_of(vocabulary, text_of(text), grow));
  }
  return to_numpy(std::move(numbers));
}

OutputArray<std::uint32_t> encode_column(Vocabulary& vocabulary, const ColumnTable& table, std::size_t column,
                                         bool grow) {
  if (column >= table.columns() && table.tokens() > 0) throw std::invalid_argument("there is no such column");
  std::vector<std::uint32_t> numbers(table.tokens());
  const auto encode = [&](StopRequest& stop) {
    for (std::size_t t = 0; t < numbers.size(); ++t) {
      stop.check();
      numbers[t] = number_of(vocabulary, table.cell(t, column), grow);
    }
  };
  interruptible(encode, grow);  // a vocabulary that does not grow may serve several threads at once
  return to_numpy(std::move(numbers));
}

nb::bytes with_cells(const ColumnTable& table, const std::vector<std::string_view>& cells,
                     const std::vector<std::size_t>& columns) {
  std::string text;
  {
    const nb::gil_scoped_release release;
    text = table.with_cells(cells, columns);
  }
  return nb::bytes(text.data(), text.size());
}

nb::bytes with_labels(const ColumnTable& table, const Vocabulary& labels, const InputArray<std::uint16_t>& numbers,
                      std::size_t column, std::size_t k) {
  return with_cells(table, label_names(labels, numbers, table.tokens() * k), std::vector<std::size_t>(k, column));
}

// What a column is to hold: the names of the numbers of all tokens.
using NewColumn = std::tuple<std::size_t, const Vocabulary*, InputArray<std::uint32_t>>;

nb::bytes with_columns(const ColumnTable& table, const std::vector<NewColumn>& columns) {
  const std::size_t k = columns.size();
  std::vector<std::size_t> places;
  std::vector<std::string_view> cells(table.tokens() * k);
  for (std::size_t i = 0; i < k; ++i) {
    const auto& [place, names, numbers] = columns[i];
    if (table.tokens() > 0 && place >= table.columns()) throw std::invalid_argument("there is no such column");
    if (numbers.size() != table.tokens()) throw std::invalid_argument("there are too few or too many cells");
    for (std::size_t t = 0; t < numbers.size(); ++t) {
      const std::uint32_t number = numbers.data()[t];
      if (number >= names->size()) throw std::invalid_argument("a cell is beyond the vocabulary");
      cells[t * k + i] = names->name(number);
    }
    places.push_back(place);
  }
  return with_cells(table, cells, places);
}

}  // namespace

std::vector<std::string_view> label_names(const Vocabulary& labels, const InputArray<std::uint16_t>& numbers,
                                          std::size_t count) {
  constexpr std::uint16_t none = 0xFFFF;
  if (numbers.size() != count) throw std::invalid_argument("there are too few or too many labels");
  std::vector<std::string_view> names;
  names.reserve(count);
  for (const std::uint16_t number : view(numbers)) {
    if (number >= labels.size() && number != none) throw std::invalid_argument("a label is beyond the vocabulary");
    names.push_back(number == none ? "_" : labels.name(number));
  }
  return names;
}

void bind_text(nb::module_& module) {
  nb::class_<Vocabulary>(module, "Vocabulary")
      .def(nb::init<>())
      .def("__init__",
           [](Vocabulary* self, const InputArray<std::uint8_t>& text, const InputArray<std::uint64_t>& offsets) {
             const std::string_view letters(reinterpret_cast<const char*>(text.data()), text.size());
             new (self)
                 Vocabulary(letters, view(offsets),
                            std::make_shared<std::pair<nb::object, nb::object>>(nb::cast(text), nb::cast(offsets)));
           })
      .def("__len__", &Vocabulary::size)
      .def("find",
           [](const Vocabulary& self, std::string_view name) -> std::int64_t {
             const std::uint32_t id = self.find(name);
             return id == Vocabulary::unknown ? -1 : static_cast<std::int64_t>(id);
           })
      .def("name",
           [](const Vocabulary& self, std::size_t id) {
             if (id >= self.size()) throw nb::index_error("beyond the vocabulary");
             std::string name(self.name(id));
             std::ranges::replace(name, path_separator, ':');
             return name;
           })
      .def("with_names_as_shown", [](const Vocabulary& self) { return self.with_separators_as(':'); })
      .def("text", [](const Vocabulary& self) { return nb::bytes(self.text().data(), self.text().size()); })
      .def("offsets",
           [](const Vocabulary& self) {
             return to_numpy(std::vector<std::uint64_t>(self.offsets().begin(), self.offsets().end()));
           })
      .def("selected",
           [](const Vocabulary& self, const InputArray<std::uint32_t>& ids) { return self.selected(view(ids)); })
      .def("encode_tokens", &encode_tokens, nb::arg("sentences"), nb::arg("grow"), nb::arg("separator"))
      .def("encode_strings", &encode_strings, nb::arg("strings"), nb::arg("grow"))
      .def("encode_column", &encode_column, nb::arg("table"), nb::arg("column"), nb::arg("grow"));

  nb::class_<TokenColumns>(module, "TokenColumns").def("sentences", [](const TokenColumns& self) {
    return to_numpy(self.sentences());
  });
  nb::class_<ColumnTable, TokenColumns>(module, "ColumnTable")
      .def(
          "__init__",
          [](ColumnTable* self, const nb::bytes& text, bool tabs_only, const std::string& name, std::size_t first_line,
             std::size_t columns, std::optional<std::size_t> id_column, bool comments) {
            std::string owned = as_string(text);
            ColumnFormat format = ColumnFormat::conll;
            if (tabs_only) format = comments ? ColumnFormat::conllu : ColumnFormat::conllx;
            if (tabs_only && comments) format.id = id_column;
            interruptible([&](StopRequest& stop) {
              new (self) ColumnTable(std::move(owned), format, name, first_line, columns, stop);
            });
          },
          nb::arg("text"), nb::arg("tabs_only"), nb::arg("name"), nb::arg("first_line"), nb::arg("columns"),
          nb::arg("id_column").none() = 0, nb::arg("comments") = true)
      .def_prop_ro("name", &ColumnTable::name)
      .def_prop_ro("columns", &ColumnTable::columns)
      .def_prop_ro("tokens", &ColumnTable::tokens)
      .def_prop_ro("memory", &ColumnTable::bytes)
      .def("cell",
           [](const ColumnTable& self, std::size_t token, std::size_t column) {
             if (token >= self.tokens() || column >= self.columns()) throw nb::index_error("beyond the table");
             return std::string(self.cell(token, column));
           })
      .def("line_number",
           [](const ColumnTable& self, std::size_t token) {
             if (token >= self.tokens()) throw nb::index_error("beyond the table");
             return self.line_number(token);
           })
      .def_prop_ro("line_with_spaces", &ColumnTable::line_with_spaces)
      .def("with_labels", &with_labels, nb::arg("labels"), nb::arg("numbers"), nb::arg("column"), nb::arg("k") = 1)
      .def("with_columns", &with_columns, nb::arg("columns"));
}

}  // namespace marginloom::python
