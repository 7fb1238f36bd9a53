#include "io/attribute_table.hpp"

#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "test.hpp"

using marginloom::Attribute;
using marginloom::AttributeTable;
using marginloom::TokenRows;
using marginloom::Vocabulary;

namespace {

using Offsets = std::vector<std::uint64_t>;
using Numbers = std::vector<std::uint32_t>;
using Attributes = std::vector<std::pair<std::string, double>>;

AttributeTable table_of(std::string text) {
  return {std::move(text), "train.crfsuite", 1};
}

Attributes attributes(const AttributeTable& table, std::size_t token = 0) {
  Attributes found;
  std::string buffer;
  table.visit_attributes(token, buffer, [&](const Attribute& a) { found.emplace_back(a.name, a.value); });
  return found;
}

std::string label(const AttributeTable& table, std::size_t token = 0) {
  std::string buffer;
  return std::string(table.label(token, buffer));
}

}  // namespace

TEST("attribute_table: sequences end at blank lines, of which there may be several") {
  const AttributeTable table = table_of("\n\nD\ta\tb\nN\tc\n\n\n\nV\td\n. \n");
  CHECK(table.tokens() == 4);
  CHECK(table.sentences() == Offsets{0, 2, 4});
  CHECK(attributes(table) == Attributes{{"a", 1}, {"b", 1}});
  CHECK(label(table, 2) == "V");
  CHECK(table.line_number(0) == 3);
  CHECK(table.line_number(3) == 9);
}

TEST("attribute_table: text without items is empty") {
  for (const char* text : {"", "\n", "\r\n\r\n"}) {
    const AttributeTable table = table_of(text);
    CHECK(table.tokens() == 0);
    CHECK(table.sentences() == Offsets{0});
    CHECK(table.with_labels({}).empty());
  }
}

TEST("attribute_table: an item may have a label alone, attributes alone, or neither") {
  const AttributeTable table = table_of("X\n\ta\n\t\n");
  CHECK(table.sentences() == Offsets{0, 3});
  CHECK(label(table, 0) == "X");
  CHECK(attributes(table, 0).empty());
  CHECK(label(table, 1).empty());
  CHECK(attributes(table, 1) == Attributes{{"a", 1}});
  CHECK(label(table, 2).empty());
  CHECK(attributes(table, 2).empty());
}

TEST("attribute_table: the last line needs no newline, and carriage returns are no part of fields") {
  const AttributeTable table = table_of("X\ta\r\n\r\nY\tb:2\r\nZ\tc");
  CHECK(table.sentences() == Offsets{0, 1, 3});
  CHECK(attributes(table, 0) == Attributes{{"a", 1}});
  CHECK(attributes(table, 1) == Attributes{{"b", 2}});
  CHECK(attributes(table, 2) == Attributes{{"c", 1}});
}

TEST("attribute_table: spaces and hashes are ordinary characters, empty fields are not attributes") {
  const AttributeTable table = table_of("# X\t\t a b \t#\t\n");
  CHECK(label(table) == "# X");
  CHECK(attributes(table) == Attributes{{" a b ", 1}, {"#", 1}});
}

TEST("attribute_table: a colon separates a value, an escaped one is part of the name") {
  const AttributeTable table = table_of("X\ta:0.5\tb\\:c\tb\\:c:-2e1\td\\\\:3\td\\\\\t\\:\n");
  CHECK(attributes(table) == Attributes{{"a", 0.5}, {"b:c", 1}, {"b:c", -20}, {"d\\", 3}, {"d\\", 1}, {":", 1}});
}

TEST("attribute_table: a backslash before anything else is itself") {
  const AttributeTable table = table_of("X\ta\\b\tc\\\t\\:\\\n");
  CHECK(attributes(table) == Attributes{{"a\\b", 1}, {"c\\", 1}, {":\\", 1}});
}

TEST("attribute_table: labels may have colons, escaped or not") {
  const AttributeTable table = table_of("a:b\tx\na\\:b\tx\na\\\\\\b\tx\n");
  CHECK(label(table, 0) == "a:b");
  CHECK(label(table, 1) == "a:b");
  CHECK(label(table, 2) == "a\\\\b");
}

TEST("attribute_table: numbers as people write them") {
  const AttributeTable table = table_of("X\ta:+1\tb:.5\tc:2.\td:1E-3\te:-0\tf:5e-324\tg:007\n");
  CHECK(attributes(table) == Attributes{{"a", 1},
                                        {"b", 0.5},
                                        {"c", 2},
                                        {"d", 0.001},
                                        {"e", 0},
                                        {"f", std::numeric_limits<double>::denorm_min()},
                                        {"g", 7}});
}

TEST("attribute_table: what is no number is an error that names file, line, attribute and remedy") {
  CHECK_THROWS(std::invalid_argument, table_of("X\ta\n\nY\tw=12:x\n"),
               "train.crfsuite, line 3: attribute 'w=12:x': found 'x' after the colon, expected a number");
  for (const char* value : {"1 2", "1:2", "0x10", "1,5", "--1", "+-1", "+", "1e", "\\:"}) {
    const std::string field = "a:" + std::string(value);
    CHECK_THROWS(std::invalid_argument, table_of("X\t" + field + "\tb\n"), "line 1: attribute '" + field + "': found");
  }
  CHECK_THROWS(std::invalid_argument, table_of("X\ta:b\n"), "a colon that belongs to the name is written \\:");
  CHECK_THROWS(std::invalid_argument, AttributeTable("X\ta:b\n", "part", 101), "part, line 101:");
}

TEST("attribute_table: values beyond single precision, infinite ones and NaN are errors") {
  for (const char* value : {"nan", "inf", "-inf", "infinity"}) {
    CHECK_THROWS(std::invalid_argument, table_of("X\ta:" + std::string(value)), "NaN or infinite");
  }
  CHECK_THROWS(std::invalid_argument, table_of("X\ta:1e39"), "line 1: attribute 'a:1e39': a value is beyond the range");
  CHECK_THROWS(std::invalid_argument, table_of("X\ta:-1e999"), "beyond the range");
}

TEST("attribute_table: an attribute needs a name") {
  CHECK_THROWS(std::invalid_argument, table_of("X\t:1\n"), "line 1: attribute ':1': found no name before the colon");
}

TEST("attribute_table: attributes become sparse rows, and one that is there twice counts twice") {
  const AttributeTable table = table_of("X\ta\tb\nY\n\nX\tb\tb\ta\n");
  Vocabulary vocabulary;
  const TokenRows rows = table.encode_attributes(vocabulary, true);
  CHECK(rows.tokens == Offsets{0, 2, 2, 5});
  CHECK(rows.features == Numbers{0, 1, 1, 1, 0});
  CHECK(rows.indicators());
  CHECK(vocabulary.name(1) == "b");
}

TEST("attribute_table: values are kept in single precision, and those of 0 are left out") {
  const AttributeTable table = table_of("X\ta:0.1\tb:0\tc\n");
  Vocabulary vocabulary;
  const TokenRows rows = table.encode_attributes(vocabulary, true);
  CHECK(!rows.indicators());
  CHECK(rows.features == Numbers{0, 2});
  CHECK(rows.values == std::vector<float>{0.1F, 1});
}

TEST("attribute_table: a vocabulary that may not grow leaves out what it does not know") {
  Vocabulary vocabulary;
  vocabulary.intern("b");
  const AttributeTable table = table_of("X\ta\tb\nb\tc\n");
  const TokenRows rows = table.encode_attributes(vocabulary, false);
  CHECK(rows.tokens == Offsets{0, 1, 1});
  CHECK(rows.features == Numbers{0});
  CHECK(table.encode_labels(vocabulary, false) == Numbers{Vocabulary::unknown, 0});
  CHECK(vocabulary.size() == 1);
}

TEST("attribute_table: labels are numbered, the missing one too") {
  const AttributeTable table = table_of("X\ta\n\ta\nX\n");
  Vocabulary vocabulary;
  CHECK(table.encode_labels(vocabulary, true) == Numbers{0, 1, 0});
  CHECK(vocabulary.name(1).empty());
}

TEST("attribute_table: predictions are labels alone, with a blank line after every sequence") {
  const AttributeTable table = table_of("\nX\ta\nY\tb\n\n\nZ\tc");
  CHECK(table.with_labels({"P", "Q", "R:S"}) == "P\nQ\n\nR:S\n\n");
}

TEST("attribute_table: declared weights belong to sequences, and their lines are no items") {
  const AttributeTable table = table_of("@weight:0.5\nX\ta\n\nX\ta\n@weight:2\tY\tb\n\n@weight:7\n\nX\ta\n");
  std::string buffer;
  CHECK(table.sentences() == Offsets{0, 1, 3, 4});
  CHECK(table.weights() == std::vector<double>{0.5, 2, 1});
  CHECK(table.label(2, buffer) == "Y");
  CHECK(table.line_number(2) == 5);
  CHECK_THROWS(std::invalid_argument, table_of("X\ta\n@other:1\n"),
               "line 2: attribute '@other:1': before the label only");
  CHECK_THROWS(std::invalid_argument, table_of("@weight:-1\tX\n"), "must not be negative");
  CHECK_THROWS(std::invalid_argument, table_of("@weight:\tX\n"), "found no number");
}

TEST("attribute_table: an empty value is 1, and blanks around one do not count") {
  const AttributeTable table = table_of("X\ta:\tb: 2 \tc: \n");
  Vocabulary vocabulary;
  CHECK(table.encode_attributes(vocabulary, true).values == std::vector<float>{1, 2, 1});
}
