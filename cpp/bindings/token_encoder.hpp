// Features of tokens from Python objects.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "features/token_rows.hpp"
#include "features/vocabulary.hpp"

namespace marginloom::python {

// Encodes what python-crfsuite takes for an item: a list, tuple or set of strings; or a dict from names to numbers, to
// strings, or to lists, sets and dicts of the same kinds. A feature is the names on the way to it: {"a": "b"}, {"a":
// ["b"]} and {"a": {"b": 1}} are the same one, of the names a and b, which `separator` joins. Bytes are text in UTF-8.
//
// Methods throw std::invalid_argument, with sentence and token, if an object is none of that, and nb::python_error.
class TokenEncoder {
 public:
  TokenEncoder(Vocabulary& vocabulary, bool grow, std::string separator)
      : vocabulary_(vocabulary), grow_(grow), separator_(std::move(separator)) {}

  void add_sentence(nb::handle sentence);

  // Where the sentences begin and end, in tokens, and the tokens' features.
  [[nodiscard]] std::pair<std::vector<std::uint64_t>, TokenRows> finish() &&;

 private:
  void add_token(PyObject* token);
  void add_strings(PyObject* strings);
  void add_sorted(PyObject* set);
  void add_dict(PyObject* dict);
  void add_value(PyObject* value);
  void add_nested(PyObject* value);
  void add_name(PyObject* last, double value);
  void add_path(double value);
  void number_features();
  void append_text(PyObject* text, std::string& to) const;

  Vocabulary& vocabulary_;
  bool grow_;
  std::string separator_;
  TokenRows rows_;
  std::vector<std::uint64_t> sentences_{0};

  // Of the token at hand.
  std::string path_;  // names of the dicts that lead to what is being read, each with a separator after it
  std::size_t depth_ = 0;
  std::string made_;  // names that no Python object holds; it may move as it grows
  std::vector<std::string_view> names_;
  std::vector<std::pair<std::size_t, std::size_t>> places_;  // which of the names begin where in `made_`
  std::vector<double> values_;
  std::vector<std::uint32_t> numbers_;
};

}  // namespace marginloom::python
