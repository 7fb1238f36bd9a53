// Text in CRFsuite's format: one item a line, its label and then its attributes, a blank line between sequences.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/parallel.hpp"
#include "features/token_rows.hpp"
#include "features/vocabulary.hpp"

namespace marginloom {

struct Attribute {
  std::string_view name;
  double value = 1;
};

// Fields are separated by tabs, the label is the first. An attribute is `name` or `name:value`; in names and labels
// `\:` is a colon and `\\` a backslash, any other backslash is itself. A colon in the label needs no backslash. Blanks
// around a value do not count, and a value that is empty is 1. Empty fields after the label are no attributes. Only a
// line without any character is blank, and there are no comments. `@weight:X` before the label of an item, or on a line
// of its own, is the weight of the sequence; the last one counts.
class AttributeTable {
 public:
  // Throws std::invalid_argument, with `name` and the line, if an attribute has no name, its value is no number that
  // single precision can hold, a weight is no number or negative, or something else begins with @ where a label
  // belongs.
  AttributeTable(std::string text, std::string name, std::size_t first_line, StopRequest stop = {});

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::size_t tokens() const { return lines_.size(); }
  [[nodiscard]] std::size_t bytes() const { return text_.size(); }
  [[nodiscard]] const std::vector<std::uint64_t>& sentences() const { return sentences_; }  // offsets into tokens
  [[nodiscard]] const std::vector<double>& weights() const { return weights_; }             // of the sequences
  [[nodiscard]] std::size_t line_number(std::size_t token) const;

  // The views hold until the next call with the same buffer, or as long as the table.
  [[nodiscard]] std::string_view label(std::size_t token, std::string& buffer) const;
  template <class Function>
  void visit_attributes(std::size_t token, std::string& buffer, Function function) const {
    std::string_view rest = fields_of(token);
    for (Attribute attribute; next_attribute(rest, buffer, attribute);) function(attribute);
  }

  // Numbers of the labels, and rows of the attributes; what the vocabulary does not have is added if it may grow, and
  // else becomes Vocabulary::unknown or is left out.
  [[nodiscard]] std::vector<std::uint32_t> encode_labels(Vocabulary& vocabulary, bool grow,
                                                         StopRequest stop = {}) const;
  [[nodiscard]] TokenRows encode_attributes(Vocabulary& vocabulary, bool grow, StopRequest stop = {}) const;

  // One label a line and a blank line after every sequence.
  [[nodiscard]] std::string with_labels(const std::vector<std::string_view>& labels) const;

 private:
  [[nodiscard]] std::string_view line_at(std::size_t& position) const;
  [[nodiscard]] std::string_view fields_of(std::size_t token) const;  // from the tab after the label on
  // Takes fields off `rest` up to and with the next attribute; false if there is none.
  static bool next_attribute(std::string_view& rest, std::string& buffer, Attribute& attribute);

  std::string text_;
  std::string name_;
  std::size_t first_line_;
  std::vector<std::uint64_t> lines_;  // where the label of each item begins
  std::vector<std::uint64_t> sentences_{0};
  std::vector<double> weights_;
};

}  // namespace marginloom
