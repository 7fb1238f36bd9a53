#include "io/attribute_table.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "core/shown.hpp"

namespace marginloom {
namespace {

// The text with `\:` and `\\` resolved, in `buffer`.
std::string_view unescaped(std::string_view text, std::string& buffer) {
  buffer.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == ':' || text[i + 1] == '\\');
    buffer.push_back(text[escape ? ++i : i]);
  }
  return buffer;
}

[[noreturn]] void refuse_attribute(std::string_view field, const std::string& problem) {
  throw std::invalid_argument("attribute '" + shown(field) + "': " + problem);
}

double attribute_value(std::string_view text, std::string_view field) {
  const auto is_blank = [](char c) { return c == ' '; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  if (text.empty()) return 1;
  double value = 0;
  const std::size_t sign = text.size() > 1 && text[0] == '+' && text[1] != '-' ? 1 : 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + sign, end, value);
  if (error == std::errc::invalid_argument || stop != end) {
    refuse_attribute(field,
                     "found '" + shown(text) +
                         "' after the colon, expected a number; a colon that belongs to the name is written \\:");
  }
  try {
    if (error != std::errc()) throw std::invalid_argument("a value is beyond the range of double precision");
    TokenRows::check(value);
  } catch (const std::invalid_argument& problem) {
    refuse_attribute(field, problem.what());
  }
  return value;
}

// Takes declarations off the beginning of a line, and the tabs after them; `weight` becomes what the last one says.
void take_declarations(std::string_view& line, double& weight) {
  constexpr std::string_view name = "@weight:";
  while (line.starts_with('@')) {
    const std::string_view field = line.substr(0, line.find('\t'));
    if (!field.starts_with(name)) {
      refuse_attribute(field,
                       "before the label only @weight:NUMBER may begin with @, which declares the sequence's weight");
    }
    if (field.size() == name.size())
      refuse_attribute(field, "found no number after the colon, expected the sequence's weight");
    weight = attribute_value(field.substr(name.size()), field);
    if (weight < 0) refuse_attribute(field, "a weight must not be negative; 0 leaves the sequence out");
    line.remove_prefix(field.size());
    while (line.starts_with('\t')) line.remove_prefix(1);
  }
}

}  // namespace

AttributeTable::AttributeTable(std::string text, std::string name, std::size_t first_line, StopRequest stop)
    : text_(std::move(text)), name_(std::move(name)), first_line_(first_line) {
  double weight = 1;
  const auto end_sentence = [&] {
    if (lines_.size() > sentences_.back()) {
      sentences_.push_back(lines_.size());
      weights_.push_back(weight);
    }
    weight = 1;
  };
  std::string buffer;
  std::size_t number = first_line;
  for (std::size_t position = 0; position < text_.size(); ++number) {
    stop.check();
    std::string_view line = line_at(position);
    if (line.empty()) {
      end_sentence();
      continue;
    }
    try {
      const bool declares = line.starts_with('@');
      take_declarations(line, weight);
      if (declares && line.empty()) continue;
      lines_.push_back(static_cast<std::size_t>(line.data() - text_.data()));
      visit_attributes(lines_.size() - 1, buffer, [](const Attribute&) {});
    } catch (const std::invalid_argument& problem) {
      throw std::invalid_argument(name_ + ", line " + std::to_string(number) + ": " + problem.what());
    }
  }
  end_sentence();
}

// The line that begins at `position`, without its end; `position` moves on to the next.
std::string_view AttributeTable::line_at(std::size_t& position) const {
  const std::size_t begin = position;
  const std::size_t end = std::min(text_.find('\n', begin), text_.size());
  position = std::min(end + 1, text_.size());
  std::string_view line(text_.data() + begin, end - begin);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view AttributeTable::fields_of(std::size_t token) const {
  std::size_t position = lines_[token];
  std::string_view line = line_at(position);
  line.remove_prefix(std::min(line.find('\t'), line.size()));
  return line;
}

bool AttributeTable::next_attribute(std::string_view& rest, std::string& buffer, Attribute& attribute) {
  while (rest.starts_with('\t')) rest.remove_prefix(1);
  if (rest.empty()) return false;
  std::size_t colon = std::string_view::npos;
  bool backslash = false;
  std::size_t end = 0;
  for (; end < rest.size() && rest[end] != '\t'; ++end) {
    if (colon != std::string_view::npos) continue;
    if (rest[end] == ':') colon = end;
    if (rest[end] != '\\') continue;
    backslash = true;
    if (end + 1 < rest.size() && (rest[end + 1] == ':' || rest[end + 1] == '\\')) ++end;
  }
  const std::string_view field = rest.substr(0, end);
  rest.remove_prefix(end);
  const std::string_view name = field.substr(0, std::min(colon, end));
  if (name.empty())
    refuse_attribute(field, "found no name before the colon; a colon that belongs to the name is written \\:");
  attribute.name = backslash ? unescaped(name, buffer) : name;
  attribute.value = colon < end ? attribute_value(field.substr(colon + 1), field) : 1;
  return true;
}

std::string_view AttributeTable::label(std::size_t token, std::string& buffer) const {
  std::size_t position = lines_[token];
  const std::string_view line = line_at(position);
  const std::string_view field = line.substr(0, line.find('\t'));
  return field.find('\\') == std::string_view::npos ? field : unescaped(field, buffer);
}

std::size_t AttributeTable::line_number(std::size_t token) const {
  return first_line_ + static_cast<std::size_t>(
                           std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(lines_[token]), '\n'));
}

std::vector<std::uint32_t> AttributeTable::encode_labels(Vocabulary& vocabulary, bool grow, StopRequest stop) const {
  std::vector<std::uint32_t> numbers(tokens());
  std::string buffer;
  for (std::size_t t = 0; t < numbers.size(); ++t) {
    stop.check();
    numbers[t] = number_of(vocabulary, label(t, buffer), grow);
  }
  return numbers;
}

TokenRows AttributeTable::encode_attributes(Vocabulary& vocabulary, bool grow, StopRequest stop) const {
  TokenRows rows;
  rows.tokens.reserve(tokens() + 1);
  std::string buffer;
  for (std::size_t t = 0; t < tokens(); ++t) {
    stop.check();
    visit_attributes(t, buffer, [&](const Attribute& attribute) {
      rows.add(number_of(vocabulary, attribute.name, grow), attribute.value);
    });
    rows.end_token();
  }
  return rows;
}

std::string AttributeTable::with_labels(const std::vector<std::string_view>& labels) const {
  std::string result;
  for (std::size_t s = 0; s + 1 < sentences_.size(); ++s) {
    for (std::size_t t = sentences_[s]; t < sentences_[s + 1]; ++t) (result += labels[t]) += '\n';
    result += '\n';
  }
  return result;
}

}  // namespace marginloom
