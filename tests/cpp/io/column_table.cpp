#include "io/column_table.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include "test.hpp"

using marginloom::ColumnFormat;
using marginloom::ColumnTable;

namespace {

using Offsets = std::vector<std::uint64_t>;
using Labels = std::vector<std::string_view>;

ColumnTable conll(std::string text) {
  return {std::move(text), ColumnFormat::conll, "train.conll", 1};
}
ColumnTable conllx(std::string text) {
  return {std::move(text), ColumnFormat::conllx, "train.conll", 1};
}
ColumnTable conllu(std::string text) {
  return {std::move(text), ColumnFormat::conllu, "train.conllu", 1};
}

// A CoNLL-U line: the id, the form, the tag in the fourth column, and seven cells in between and after.
std::string unit(const std::string& id, const std::string& form, const std::string& tag) {
  return id + "\t" + form + "\t_\t" + tag + "\t_\t_\t_\t_\t_\tlast cell\n";
}

}  // namespace

TEST("column_table: conll sentences end at blank lines") {
  const ColumnTable table = conll("\n\nThe DT\ndog\tNN\n\n \t \nbarks   VBZ\n. .\n\n\n");
  CHECK(table.columns() == 2);
  CHECK(table.tokens() == 4);
  CHECK(table.sentences() == Offsets{0, 2, 4});
  CHECK(table.cell(0, 0) == "The");
  CHECK(table.cell(1, 1) == "NN");
  CHECK(table.cell(2, 0) == "barks");
  CHECK(table.cell(2, 1) == "VBZ");
  CHECK(table.cell(3, 0) == ".");
  CHECK(table.line_number(0) == 3);
  CHECK(table.line_number(3) == 8);
}

TEST("column_table: text without tokens is empty") {
  for (const char* text : {"", "\n", "\r\n\r\n", "  \n", "-DOCSTART- -X- O O\n\n"}) {
    const ColumnTable table = conll(text);
    CHECK(table.tokens() == 0);
    CHECK(table.columns() == 0);
    CHECK(table.sentences() == Offsets{0});
  }
}

TEST("column_table: the last line needs no newline") {
  const ColumnTable table = conll("a X\n\nb Y");
  CHECK(table.sentences() == Offsets{0, 1, 2});
  CHECK(table.cell(1, 1) == "Y");
  CHECK(table.with_cells({"P", "Q"}, {0}) == "a X P\n\nb Y Q\n");
}

TEST("column_table: carriage returns are no part of cells or blank lines") {
  const ColumnTable table = conll("a X\r\n\r\nb Y\r\n");
  CHECK(table.sentences() == Offsets{0, 1, 2});
  CHECK(table.cell(0, 1) == "X");
  CHECK(table.with_cells({"P", "Q"}, {0}) == "a X P\r\n\r\nb Y Q\r\n");
  const ColumnTable units = conllu("# text\r\n1\ta\tb\tc\td\te\tf\tg\th\ti\r\n\r\n");
  CHECK(units.tokens() == 1);
  CHECK(units.cell(0, 9) == "i");
}

TEST("column_table: surrounding and repeated spaces make no cells in conll") {
  const ColumnTable table = conll("  a \t X  \nb Y\n");
  CHECK(table.columns() == 2);
  CHECK(table.cell(0, 0) == "a");
  CHECK(table.cell(0, 1) == "X");
}

TEST("column_table: a document mark ends a sentence and is no token") {
  const ColumnTable table = conll("-DOCSTART- -X- O O\na X\n-DOCSTART-\nb Y\n");
  CHECK(table.columns() == 2);
  CHECK(table.sentences() == Offsets{0, 1, 2});
  CHECK(table.with_cells({"P", "Q"}, {0}) == "-DOCSTART- -X- O O O\na X P\n-DOCSTART- O\nb Y Q\n");
}

TEST("column_table: in conll a hash is a word") {
  const ColumnTable table = conll("# NN\n1 CD\n-DOCSTART-s NN\n");
  CHECK(table.tokens() == 3);
  CHECK(table.cell(0, 0) == "#");
}

TEST("column_table: ragged columns are an error that names file, line and counts") {
  CHECK_THROWS(std::invalid_argument, conll("a X\n\nb\n"), "train.conll, line 3: found 1 column, expected 2");
  CHECK_THROWS(std::invalid_argument, conll("a X\nb Y Z\n"), "train.conll, line 2: found 3 columns, expected 2");
  CHECK_THROWS(std::invalid_argument, ColumnTable("a X\nb\n", ColumnFormat::conll, "part", 101), "part, line 102:");
  CHECK_THROWS(std::invalid_argument, conllu("# note\n1\tdog\tNN\n"),
               "train.conllu, line 2: found 3 columns, expected 10 separated by tabs");
  CHECK_THROWS(std::invalid_argument, conllu("1 dog NN\n"), "found 1 column, expected 10");
}

TEST("column_table: comments, ranges and empty nodes are no tokens in conllu") {
  const ColumnTable table = conllu("# text = vamos al mar\n" + unit("1", "vamos", "VERB") + unit("2-3", "al", "_") +
                                   unit("2", "a", "ADP") + unit("3", "el", "DET") + unit("3.1", "ghost", "_") +
                                   unit("4", "mar azul", "NOUN") + "\n# next\n" + unit("1", "#", "SYM"));
  CHECK(table.columns() == 10);
  CHECK(table.tokens() == 5);
  CHECK(table.sentences() == Offsets{0, 4, 5});
  CHECK(table.cell(1, 1) == "a");
  CHECK(table.cell(3, 1) == "mar azul");
  CHECK(table.cell(3, 9) == "last cell");
  CHECK(table.cell(4, 1) == "#");
  CHECK(table.line_number(1) == 4);
  CHECK(table.line_number(4) == 10);
}

TEST("column_table: in conllu only rows of all columns whose ID is that of a range or an empty node are no tokens") {
  for (const char* id : {"1-2", "0.1", "10-12", "8.10", "007-8"}) CHECK(conllu(unit(id, "a", "X")).tokens() == 0);
  for (const char* id : {"1", "0", "42", "99999999999999999999"}) CHECK(conllu(unit(id, "a", "X")).tokens() == 1);
  for (const char* id : {"2-", "2.", "-2", ".2", "-", ".", "1-2-3", "1.2.3", "1-2.3", "a-b", "1 - 2", "1- 2", "+1",
                         "1,5", "a", "", "_", "1-a", "1 "}) {
    CHECK_THROWS(std::invalid_argument, conllu("# text\n" + unit(id, "a", "X")),
                 "train.conllu, line 2: found the ID '" + std::string(id) + "', expected a number, or numbers as in");
  }
  for (const char* row : {"1-2\tab", "I like dogs.", "2.", "1.1\tghost\t_\t_\t_\t_\t_\t_\t_", "a-b"}) {
    CHECK_THROWS(std::invalid_argument, conllu(unit("1", "a", "X") + row), "train.conllu, line 2: found ");
    CHECK_THROWS(std::invalid_argument, conllu(unit("1", "a", "X") + row),
                 "expected 10 separated by tabs, as in CoNLL-U");
  }
}

TEST("column_table: messages do not end at a NUL byte") {
  const std::string id("1\0002", 3);
  CHECK_THROWS(std::invalid_argument, conllu(unit(id, "a", "X")), "found the ID '1\\x002', expected a number");
}

TEST("column_table: empty cells count in conllu") {
  const ColumnTable table = conllu("1\t\tx\t\t\t\t\t\t\t\n");
  CHECK(table.columns() == 10);
  CHECK(table.cell(0, 1).empty());
  CHECK(table.cell(0, 2) == "x");
  CHECK(table.cell(0, 9).empty());
}

TEST("column_table: line numbers start where the caller says") {
  const ColumnTable table("a X\n\nb Y\n", ColumnFormat::conll, "part", 50);
  CHECK(table.line_number(0) == 50);
  CHECK(table.line_number(1) == 52);
  CHECK(table.name() == "part");
}

TEST("column_table: conll labels make a new last column, with the line's own separator") {
  const ColumnTable table = conll("a\tX\n\nb Y\n\n\n");
  CHECK(table.with_cells({"P", "Q"}, {0}) == "a\tX\tP\n\nb Y Q\n\n\n");
  const ColumnTable again = conll(table.with_cells({"P", "Q"}, {0}));
  CHECK(again.columns() == 3);
  CHECK(again.sentences() == table.sentences());
  CHECK(again.cell(1, 2) == "Q");
}

TEST("column_table: conllu labels replace one column and leave all else") {
  const auto text = [](const char* first, const char* second) {
    return "# text\n" + unit("1-2", "al", "_") + unit("1", "a", first) + unit("2", "el", second) + "\n";
  };
  const ColumnTable table = conllu(text("ADP", "DET"));
  CHECK(table.with_cells({"X", "Y"}, {3}) == text("X", "Y"));
  const std::string last = table.with_cells({"X", "Y"}, {9});
  CHECK(conllu(last).cell(0, 9) == "X");
  CHECK(conllu(last).cell(1, 3) == "DET");
  CHECK(conllu(table.with_cells({"7", "8"}, {0})).cell(1, 0) == "8");
}

TEST("column_table: several columns are replaced at once, and everything else stays byte for byte") {
  const auto text = [](const std::string& first, const std::string& second) {
    return "# a\tb\r\n1-2\tal\t_\t_\t_\t_\t_\t_\t_\t_\r\n1\ta\t\t_\tx y\t_\t" + first + "\t_\n2\tel\t_\t_\t_\t_\t" +
           second + "\t\r\n2.1\tnode\t_\t_\t_\t_\t_\t_\t2:x\t_\n\n \t\n\n";
  };
  const ColumnTable table = conllu(text("9\tnsubj\t9:nsubj", "\t\t"));
  CHECK(table.with_cells({"2", "case", "_", "0", "root", "_"}, {6, 7, 8}) == text("2\tcase\t_", "0\troot\t_"));
  CHECK(table.with_cells({"_", "2", "case", "_", "0", "root"}, {8, 6, 7}) == text("2\tcase\t_", "0\troot\t_"));
  CHECK(table.with_cells({}, {}) == text("9\tnsubj\t9:nsubj", "\t\t"));
}

TEST("column_table: several labels make several new columns in conll") {
  CHECK(conll("a X\n-DOCSTART-\nb Y\n").with_cells({"P", "Q", "R", "S"}, {0, 0}) ==
        "a X P Q\n-DOCSTART- O O\nb Y R S\n");
}

TEST("column_table: conllx has no comments, ranges or empty nodes") {
  const ColumnTable table = conllx(unit("#", "a b", "X") + unit("1-2", "c", "Y") + "\n" + unit("1.1", "d", "Z"));
  CHECK(table.sentences() == Offsets{0, 2, 3});
  CHECK(table.cell(0, 0) == "#");
  CHECK(table.cell(0, 1) == "a b");
  CHECK(table.with_cells({"P", "Q", "R"}, {3}) ==
        unit("#", "a b", "P") + unit("1-2", "c", "Q") + "\n" + unit("1.1", "d", "R"));
  CHECK_THROWS(std::invalid_argument, conllx("# text\n"),
               "train.conll, line 1: found 1 column, expected 10 separated by tabs, as in CoNLL-X (another format "
               "needs --format)");
}

TEST("column_table: a column of numbers may be another one than the first, or none") {
  const std::string text = "O\t1-2\tdel\nO\t1\tde\nB\t2\tel-el\n";
  ColumnFormat second = ColumnFormat::conllu;
  second.id = 1;
  CHECK(ColumnTable(text, second, "f", 1, 3).tokens() == 2);
  ColumnFormat none = ColumnFormat::conllu;
  none.id.reset();
  CHECK(ColumnTable(text, none, "f", 1, 3).tokens() == 3);
  CHECK_THROWS(std::invalid_argument, ColumnTable("a\tb\n", none, "f", 1, 3), "as # global.columns says");
}

TEST("column_table: spaces within what tabs separate are an error where other lines have none, and else told") {
  CHECK_THROWS(std::invalid_argument, conll("a\tX\tO\nNew York\tB\n"),
               "line 2: found a space within what tabs separate");
  CHECK_THROWS(std::invalid_argument, conll("New York\tB\na\tX\tO\n"), "line 1: found a space within");
  CHECK_THROWS(std::invalid_argument, conll("a\tO\nNew York\tB\n"),
               "it has tabs, and spaces within what they separate");
  CHECK(conll("\nNew York\tB\nLos Angeles\tB\n").line_with_spaces() == 2);
  CHECK(!conll("a \t B\nb C\nc\tD \n").line_with_spaces());
  CHECK(!conllu(unit("1", "New York", "NOUN")).line_with_spaces());
}
