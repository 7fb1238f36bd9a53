#include "bindings/token_encoder.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/prefetch.hpp"
#include "core/shown.hpp"

namespace marginloom::python {
namespace {

constexpr std::size_t deepest = 100;  // levels of dicts; one that holds itself would have no end

constexpr std::size_t str_bytes = 64;  // of a short str: what is said of it, and its letters

bool is_text(PyObject* object) {
  return PyUnicode_Check(object) || PyBytes_Check(object);
}

// What is asked for every string; where the module is built for one version of Python, without a call.
#ifdef Py_LIMITED_API
bool has_bytes(PyObject* text) {
  return PyUnicode_Check(text);
}
std::string_view bytes_in(PyObject* text) {
  return text_of(text);
}
PyObject* item_of(PyObject* sequence, Py_ssize_t i) {
  return PyList_Check(sequence) ? PyList_GetItem(sequence, i) : PyTuple_GetItem(sequence, i);
}
#else
// A str that is not ASCII would keep a copy of the bytes for the rest of its life if it were asked for them.
bool has_bytes(PyObject* text) {
  return PyUnicode_Check(text) && PyUnicode_IS_COMPACT_ASCII(text);
}
std::string_view bytes_in(PyObject* text) {
  return {static_cast<const char*>(PyUnicode_DATA(text)), static_cast<std::size_t>(PyUnicode_GET_LENGTH(text))};
}
PyObject* item_of(PyObject* sequence, Py_ssize_t i) {
  return PyList_Check(sequence) ? PyList_GET_ITEM(sequence, i) : PyTuple_GET_ITEM(sequence, i);
}
#endif

// A dict with the same items as any other mapping.
nb::object as_dict(PyObject* mapping) {
  nb::object dict = nb::steal(PyDict_New());
  if (!dict.is_valid() || PyDict_Update(dict.ptr(), mapping) != 0) throw nb::python_error();
  return dict;
}

bool is_mapping(PyObject* object) {
  return PyDict_Check(object) || (PyMapping_Check(object) && PyObject_HasAttrString(object, "keys"));
}

}  // namespace

void TokenEncoder::add_sentence(nb::handle sentence) {
  const std::string place = "sentence " + std::to_string(sentences_.size() - 1);
  if (is_text(sentence.ptr())) throw std::invalid_argument(place + ": it is a string, expected a list of tokens");
  std::size_t position = 0;
  try {
    for (const nb::handle token : sentence) {
      check_signals();
      add_token(token.ptr());
      ++position;
    }
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(place + ", token " + std::to_string(position) + ": " + error.what());
  }
  sentences_.push_back(rows_.tokens.size() - 1);
}

std::pair<std::vector<std::uint64_t>, TokenRows> TokenEncoder::finish() && {
  return {std::move(sentences_), std::move(rows_)};
}

void TokenEncoder::add_token(PyObject* token) {
  path_.clear();
  depth_ = 0;
  if (is_text(token)) {
    throw std::invalid_argument(
        "it is a string, expected a list or set of feature strings or a dict; words need a feature set, such as "
        "features='tagging'");
  }
  nb::object held;  // keeps the strings of other sequences alive until they have their numbers
  if (is_mapping(token)) {
    held = PyDict_Check(token) ? nb::borrow(token) : as_dict(token);
    add_dict(held.ptr());
  } else if (PyAnySet_Check(token)) {
    add_sorted(token);
  } else if (PyList_Check(token) || PyTuple_Check(token)) {
    add_strings(token);
  } else if (PySequence_Check(token)) {
    held = nb::steal(PySequence_Tuple(token));
    if (!held.is_valid()) throw nb::python_error();
    add_strings(held.ptr());
  } else {
    throw std::invalid_argument("it must be a list or set of feature strings, or a dict of name and value");
  }
  number_features();
  rows_.end_token();
}

void TokenEncoder::add_strings(PyObject* strings) {
  const Py_ssize_t count = PyList_Check(strings) ? PyList_Size(strings) : PyTuple_Size(strings);
  for (Py_ssize_t i = 0; i < count; ++i) prefetch_bytes(item_of(strings, i), str_bytes);
  for (Py_ssize_t i = 0; i < count; ++i) add_name(item_of(strings, i), 1);
}

// A set has another order in every process, and numbers of features, and with them all weights, would follow it.
void TokenEncoder::add_sorted(PyObject* set) {
  const nb::object strings = nb::steal(PySequence_List(set));
  if (!strings.is_valid()) throw nb::python_error();
  const auto count = static_cast<std::size_t>(PyList_Size(strings.ptr()));
  std::vector<std::pair<std::string, PyObject*>> sorted(count);
  for (std::size_t i = 0; i < count; ++i) {
    sorted[i].second = PyList_GetItem(strings.ptr(), static_cast<Py_ssize_t>(i));
    append_text(sorted[i].second, sorted[i].first);
  }
  std::ranges::sort(sorted);
  for (const auto& [text, string] : sorted) add_name(string, 1);
}

void TokenEncoder::add_dict(PyObject* dict) {
  const std::size_t prefix = path_.size();
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  for (Py_ssize_t position = 0; PyDict_Next(dict, &position, &key, &value);) {
    if (PyFloat_Check(value) || PyLong_Check(value)) {  // a bool is an int
      const double number = PyFloat_AsDouble(value);
      if (number != -1 || !PyErr_Occurred()) {
        add_name(key, number);
        continue;
      }
      PyErr_Clear();  // too large, which is said below
    }
    append_text(key, path_);
    add_value(value);
    path_.resize(prefix);
  }
}

// Adds what the path leads to.
void TokenEncoder::add_value(PyObject* value) {
  if (is_text(value)) {
    path_ += separator_;
    append_text(value, path_);
    add_path(1);
  } else if (PyList_Check(value) || PyTuple_Check(value) || PyAnySet_Check(value) || is_mapping(value)) {
    path_ += separator_;
    add_nested(value);
  } else {
    const double number = PyFloat_AsDouble(value);  // numpy's numbers, for example
    if (number == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      std::ranges::replace(path_, path_separator, ':');
      throw std::invalid_argument(
          "feature '" + shown(path_) +
          "' is neither a number in double precision, a string, nor a list, set or dict of them");
    }
    add_path(number);
  }
}

void TokenEncoder::add_nested(PyObject* value) {
  if (++depth_ > deepest) {
    throw std::invalid_argument("its dicts are nested more than " + std::to_string(deepest) + " deep");
  }
  if (PyAnySet_Check(value)) {
    add_sorted(value);
  } else if (is_mapping(value)) {
    const nb::object dict = PyDict_Check(value) ? nb::borrow(value) : as_dict(value);
    add_dict(dict.ptr());
  } else {
    add_strings(value);
  }
  --depth_;
}

// Adds the feature of the path with one more name.
void TokenEncoder::add_name(PyObject* last, double value) {
  if (path_.empty() && has_bytes(last)) {
    names_.push_back(bytes_in(last));
    values_.push_back(value);
    return;
  }
  const std::size_t prefix = path_.size();
  append_text(last, path_);
  add_path(value);
  path_.resize(prefix);
}

void TokenEncoder::add_path(double value) {
  places_.emplace_back(names_.size(), made_.size());
  names_.push_back(path_);
  values_.push_back(value);
  made_ += path_;
}

void TokenEncoder::append_text(PyObject* text, std::string& to) const {
  if (has_bytes(text)) {
    to += bytes_in(text);
    return;
  }
  if (!is_text(text)) throw std::invalid_argument("the name of a feature is not a string");
  nb::object bytes = nb::borrow(text);
  if (PyUnicode_Check(text)) {
    bytes = nb::steal(PyUnicode_AsUTF8String(text));
  } else if (!nb::steal(PyUnicode_FromEncodedObject(text, "utf-8", "strict")).is_valid()) {
    PyErr_Clear();
    throw std::invalid_argument("a feature is bytes that are no text in UTF-8");
  }
  if (!bytes.is_valid()) throw nb::python_error();
  to.append(PyBytes_AsString(bytes.ptr()), static_cast<std::size_t>(PyBytes_Size(bytes.ptr())));
}

void TokenEncoder::number_features() {
  for (const auto& [i, place] : places_) names_[i] = {made_.data() + place, names_[i].size()};
  numbers_.resize(names_.size());
  vocabulary_.find_all(names_, numbers_);
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (grow_ && numbers_[i] == Vocabulary::unknown) numbers_[i] = vocabulary_.intern(names_[i]);
    rows_.add(numbers_[i], values_[i]);
  }
  names_.clear();
  places_.clear();
  values_.clear();
  made_.clear();
}

}  // namespace marginloom::python
