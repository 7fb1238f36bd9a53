#include "io/libsvm.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <type_traits>

#include "core/shown.hpp"

namespace marginloom {
namespace {

constexpr std::uint64_t largest_index = std::numeric_limits<std::int32_t>::max();

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

// Takes the next field off the line; empty if there is none.
std::string_view next_field(std::string_view& rest) {
  std::size_t begin = 0;
  while (begin < rest.size() && is_blank(rest[begin])) ++begin;
  std::size_t end = begin;
  while (end < rest.size() && !is_blank(rest[end])) ++end;
  const std::string_view field = rest.substr(begin, end - begin);
  rest.remove_prefix(end);
  return field;
}

[[noreturn]] void refuse(std::string_view field, const std::string& problem) {
  throw std::invalid_argument("found '" + shown(field) + "': " + problem);
}

std::uint64_t index_of(std::string_view digits, std::string_view field) {
  std::uint64_t index = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, index);
  if (error == std::errc() && stop == end && index >= 1 && index <= largest_index) return index;
  if (error == std::errc::result_out_of_range || index > largest_index) {
    refuse(field, "the index is larger than " + std::to_string(largest_index));
  }
  if (stop == end && index == 0 && !digits.empty()) refuse(field, "indices count from 1");
  refuse(field, "expected index:value with a whole number, from 1, as the index");
}

double value_of(std::string_view text, std::string_view field) {
  double value = 0;
  const std::size_t sign = text.size() > 1 && text[0] == '+' && text[1] != '-' ? 1 : 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + sign, end, value);
  if (error == std::errc::invalid_argument || stop != end) refuse(field, "expected a number after the colon");
  // Out of range is too large or too small, and only the C library says which: what is too small becomes 0.
  if (error == std::errc::result_out_of_range) value = std::strtod(std::string(text).c_str(), nullptr);
  if (!std::isfinite(value)) refuse(field, "the value must be finite, and within double precision");
  return value;
}

std::int64_t group_of(std::string_view field) {
  std::int64_t group = 0;
  const char* end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data() + field.find(':') + 1, end, group);
  if (error != std::errc() || stop != end || group < 0) refuse(field, "expected a whole number, from 0, after qid");
  return group;
}

// Adds the labels of a first field.
void add_labels(std::string_view field, LibsvmRows& rows) {
  const std::size_t first = rows.labels.size();
  for (std::size_t begin = 0; begin <= field.size();) {
    const std::size_t end = std::min(field.find(',', begin), field.size());
    if (end == begin) refuse(field, "expected labels with one comma between them");
    const std::uint32_t number = rows.names.intern(field.substr(begin, end - begin));
    if (std::find(rows.labels.begin() + static_cast<std::ptrdiff_t>(first), rows.labels.end(), number) !=
        rows.labels.end()) {
      refuse(field, "the label " + shown(rows.names.name(number)) + " stands there twice");
    }
    rows.labels.push_back(number);
    begin = end + 1;
  }
}

void add_entry(std::string_view field, std::uint64_t& last_index, LibsvmRows& rows) {
  const std::size_t colon = field.find(':');
  if (colon == std::string_view::npos) refuse(field, "expected index:value, as in the LIBSVM line 'dog 3:0.5 7:1'");
  const std::uint64_t index = index_of(field.substr(0, colon), field);
  if (index <= last_index) {
    refuse(field, index == last_index
                      ? "the index stands there twice; give every index once"
                      : "the index comes after " + std::to_string(last_index) + "; give them in rising order");
  }
  last_index = index;
  rows.indices.push_back(static_cast<std::int32_t>(index - 1));
  rows.values.push_back(value_of(field.substr(colon + 1), field));
}

// Adds the example that stands on a line; false if there is none.
bool add_example(std::string_view line, LibsvmRows& rows) {
  std::string_view rest = line.substr(0, line.find('#'));
  std::string_view field = next_field(rest);
  if (field.empty()) return false;
  if (field.find(':') == std::string_view::npos) {
    add_labels(field, rows);
    field = next_field(rest);
  }
  rows.groups.push_back(LibsvmRows::no_group);
  if (field.starts_with("qid:")) {
    rows.groups.back() = group_of(field);
    field = next_field(rest);
  }
  for (std::uint64_t last_index = 0; !field.empty(); field = next_field(rest)) add_entry(field, last_index, rows);
  return true;
}

template <class Value>
void append(std::string& text, Value value) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  if constexpr (std::is_same_v<Value, float>) {
    // What is read is a double, and turning that into single precision again may end at a neighbour: the digits of
    // 0x1.5c87fap-84, 7.038531e-26, are a double in the middle of two floats. Then it takes the digits of the double.
    double read = 0;
    std::from_chars(buffer, end, read);
    if (static_cast<float>(read) != value) return append(text, static_cast<double>(value));
  }
  text.append(buffer, end);
}

}  // namespace

LibsvmRows parse_libsvm(std::string_view text, const std::string& name, std::size_t first_line, StopRequest stop) {
  LibsvmRows rows;
  for (std::size_t line = first_line; !text.empty(); ++line) {
    stop.check();
    const std::size_t end = std::min(text.find('\n'), text.size());
    try {
      if (add_example(text.substr(0, end), rows)) {
        rows.offsets.push_back(rows.indices.size());
        rows.label_offsets.push_back(rows.labels.size());
        rows.lines.push_back(line);
      }
    } catch (const std::invalid_argument& problem) {
      throw std::invalid_argument(name + ", line " + std::to_string(line) + ": " + problem.what());
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return rows;
}

template <class Value>
std::string format_libsvm(std::span<const std::string_view> labels, std::span<const std::uint64_t> offsets,
                          std::span<const std::int32_t> indices, std::span<const Value> values) {
  std::string text;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    text += labels[i];
    for (std::uint64_t j = offsets[i]; j < offsets[i + 1]; ++j) {
      text += ' ';
      append(text, static_cast<std::uint64_t>(indices[j]) + 1);
      text += ':';
      append(text, values[j]);
    }
    if (labels[i].empty() && offsets[i] == offsets[i + 1]) text += " 1:0";
    text += '\n';
  }
  return text;
}

template std::string format_libsvm(std::span<const std::string_view>, std::span<const std::uint64_t>,
                                   std::span<const std::int32_t>, std::span<const float>);
template std::string format_libsvm(std::span<const std::string_view>, std::span<const std::uint64_t>,
                                   std::span<const std::int32_t>, std::span<const double>);

}  // namespace marginloom
