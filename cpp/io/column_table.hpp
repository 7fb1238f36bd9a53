// Text in CoNLL columns: one token a line, a blank line between sentences.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/parallel.hpp"
#include "features/extractor.hpp"

namespace marginloom {

struct ColumnFormat {
  // Tabs alone separate columns; else spaces separate too, and -DOCSTART- lines are not tokens.
  bool tabs_only = false;
  bool comments = false;          // lines that begin with '#' are comments; else '#' is an ordinary word
  std::optional<std::size_t> id;  // column of numbers: multiword ranges (1-2) and empty nodes (1.1) are not tokens
  std::size_t columns = 0;        // how many there must be; 0 for as many as the first line has

  static const ColumnFormat conll;
  static const ColumnFormat conllu;
  static const ColumnFormat conllx;
};

inline constexpr ColumnFormat ColumnFormat::conll{};
inline constexpr ColumnFormat ColumnFormat::conllu{.tabs_only = true, .comments = true, .id = 0, .columns = 10};
inline constexpr ColumnFormat ColumnFormat::conllx{
    .tabs_only = true, .comments = false, .id = std::nullopt, .columns = 10};

class ColumnTable final : public TokenColumns {
 public:
  // Throws std::invalid_argument, with `name` and the line, if a line does not have as many columns as the format or
  // `columns` says, if an ID is neither a number nor that of a range or an empty node, or if some lines have spaces
  // within what tabs separate and others have not.
  ColumnTable(std::string text, ColumnFormat format, std::string name, std::size_t first_line, std::size_t columns = 0,
              StopRequest stop = {});

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::size_t columns() const override { return columns_; }  // 0 if there is no token
  [[nodiscard]] std::size_t tokens() const { return lines_.size(); }
  [[nodiscard]] std::size_t bytes() const { return text_.size(); }
  [[nodiscard]] const std::vector<std::uint64_t>& sentences() const override {
    return sentences_;
  }  // offsets into tokens
  [[nodiscard]] std::string_view cell(std::size_t token, std::size_t column) const override;
  [[nodiscard]] std::size_t line_number(std::size_t token) const;

  // The first line that has tabs, and spaces within what these separate, which were taken for further columns.
  [[nodiscard]] std::optional<std::size_t> line_with_spaces() const { return line_with_spaces_; }

  // The text with k = columns.size() other cells a token: cells[token * k + i] instead of what is in columns[i], where
  // tabs alone separate columns, and else in the i-th new last column. Everything that is not a token stays as it is;
  // -DOCSTART- lines get "O", to keep columns even.
  [[nodiscard]] std::string with_cells(const std::vector<std::string_view>& cells,
                                       const std::vector<std::size_t>& columns) const;

 private:
  enum class Line { blank, other, document_start, between, token };  // between tokens: ranges and empty nodes
  using Cells = std::span<const std::string_view>;

  [[nodiscard]] std::string_view line_at(std::size_t& position) const;
  [[nodiscard]] Line classify(std::string_view line) const;
  [[nodiscard]] std::size_t count_cells(std::string_view line) const;
  void append_replaced(std::string& text, std::string_view line, const std::vector<std::size_t>& places,
                       Cells cells) const;
  void check_id(std::string_view line, std::size_t number) const;
  void check_count(std::size_t cells, std::size_t number, bool has_spaces) const;
  [[noreturn]] void refuse(std::size_t number, const std::string& problem) const;

  std::string text_;
  ColumnFormat format_;
  std::string name_;
  std::size_t first_line_;
  std::size_t columns_;
  std::vector<std::uint64_t> lines_;  // where the line of each token begins
  std::vector<std::uint64_t> sentences_{0};
  std::optional<std::size_t> line_with_spaces_;
};

}  // namespace marginloom
