// Feature extraction by templates.
#include <algorithm>
#include <array>
#include <stdexcept>

#include "bindings/bindings.hpp"
#include "bindings/resources.hpp"
#include "bindings/structs.hpp"
#include "bindings/token_arrays.hpp"
#include "features/extractor.hpp"
#include "io/row_table.hpp"

namespace marginloom::python {
namespace {

// Of the templates that read labels, or of the others.
void make_extractor(Extractor* self, const std::string& templates, bool with_labels, std::size_t word_column,
                    std::optional<std::size_t> pos_column, WrittenColumns columns, const Vocabulary& cluster_words,
                    std::vector<std::string> cluster_paths, const NamedPhrases& gazetteers) {
  std::vector<Template> chosen = parse_templates(templates);
  std::erase_if(chosen, [&](const Template& line) { return line.has_labels() != with_labels; });
  new (self) Extractor(std::move(chosen), {word_column, pos_column, std::nullopt, std::move(columns)},
                       make_resources(cluster_words, std::move(cluster_paths), gazetteers));
}

// A token is a string, or a sequence of `columns` strings.
void add_token(RowTable& table, nb::handle token) {
  if (PyUnicode_Check(token.ptr())) {
    if (table.columns() != 1) throw std::invalid_argument("a token has 1 column, others have more");
    table.add_cell(text_of(token));
    return;
  }
  if (!PySequence_Check(token.ptr()) || nb::len(token) != table.columns()) {
    throw std::invalid_argument("a token must be a word or a row of " + std::to_string(table.columns()) +
                                " columns, as the first one is");
  }
  for (const nb::handle cell : token) {
    if (!PyUnicode_Check(cell.ptr())) throw std::invalid_argument("a column is not a string");
    table.add_cell(text_of(cell));
  }
}

std::size_t columns_of_first(nb::handle sentences) {
  for (const nb::handle sentence : sentences) {
    for (const nb::handle token : sentence) {
      const bool row = !PyUnicode_Check(token.ptr()) && PySequence_Check(token.ptr());
      return row ? std::max<std::size_t>(nb::len(token), 1) : 1;
    }
  }
  return 1;
}

void make_row_table(RowTable* self, nb::handle sentences) {
  RowTable table(columns_of_first(sentences));
  std::size_t i = 0;
  for (const nb::handle sentence : sentences) {
    try {
      if (PyUnicode_Check(sentence.ptr())) throw std::invalid_argument("it is a string, expected a list of tokens");
      for (const nb::handle token : sentence) {
        check_signals();
        add_token(table, token);
      }
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument("sentence " + std::to_string(i) + ": " + error.what());
    }
    table.end_sentence();
    ++i;
  }
  new (self) RowTable(std::move(table));
}

std::vector<std::pair<std::size_t, std::string>> numbered_templates(const std::string& text, const std::string& about) {
  constexpr std::array scopes{"tokens", "arcs", "states", "spans"};
  const auto* scope = std::ranges::find(scopes, about);
  if (scope == scopes.end()) throw std::invalid_argument("templates are not about " + about);
  std::vector<std::pair<std::size_t, std::string>> lines;
  for (const Template& line : parse_templates(text, static_cast<Scope>(scope - scopes.begin()))) {
    lines.emplace_back(line.line, line.name);
  }
  return lines;
}

}  // namespace

void bind_features(nb::module_& module) {
  module.def("numbered_templates", &numbered_templates, nb::arg("text"), nb::arg("about"));
  bind_result(module, "TokenRows", Field{"sentences", &TokenArrays::sentences}, Field{"tokens", &TokenArrays::tokens},
              Field{"features", &TokenArrays::features}, Field{"values", &TokenArrays::values});
  nb::class_<RowTable, TokenColumns>(module, "RowTable").def("__init__", &make_row_table);

  nb::class_<Extractor>(module, "Extractor")
      .def("__init__", &make_extractor, nb::arg("templates"), nb::arg("with_labels"), nb::arg("word_column"),
           nb::arg("pos_column").none(), nb::arg("columns"), nb::arg("cluster_words"), nb::arg("cluster_paths"),
           nb::arg("gazetteers"))
      .def("templates",
           [](const Extractor& self) {
             std::vector<std::string> names;
             for (const Template& line : self.templates()) names.push_back(line.name);
             return names;
           })
      .def("encode",
           [](const Extractor& self, const TokenColumns& table, const Vocabulary& vocabulary, int threads) {
             auto encode = [&](StopRequest& stop) { return self.encode(table, vocabulary, threads, stop); };
             return to_arrays(table.sentences(), interruptible(encode));
           })
      .def("learn",
           [](const Extractor& self, const TokenColumns& table, Vocabulary& vocabulary, int threads) {
             auto learn = [&](StopRequest& stop) { return self.learn(table, vocabulary, threads, stop); };
             return to_arrays(table.sentences(),
                              interruptible(learn, true));  // the vocabulary grows, and is guarded by the GIL
           })
      .def("hash", [](const Extractor& self, const TokenColumns& table, int bits, int threads) {
        auto hash = [&](StopRequest& stop) { return self.hash(table, bits, threads, stop); };
        return to_arrays(table.sentences(), interruptible(hash));
      });
}

}  // namespace marginloom::python
