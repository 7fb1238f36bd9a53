// Text in CoNLL columns: one token a line, a blank line between sentences.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/parallel.hpp"
#include "features/extractor.hpp"

namespace marginloom {

enum class ColumnFormat {
  conll,   // columns separated by spaces or tabs; -DOCSTART- lines are not tokens; '#' is an ordinary word
  conllu,  // ten columns separated by tabs; comments, multiword ranges (1-2) and empty nodes (1.1) are not
           // tokens
};

class ColumnTable final : public TokenColumns {
 public:
  // Throws std::invalid_argument, with `name` and the line, if a line does not have `columns` columns; 0 means as many
  // as the first one.
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

  // The text with more cells a token: labels[token * k] to labels[token * k + k - 1], in new last columns (conll) or
  // instead of `column` (conllu, k = 1). Everything that is not a token stays as it is; -DOCSTART- lines get "O", to
  // keep columns even.
  [[nodiscard]] std::string with_labels(const std::vector<std::string_view>& labels, std::size_t column,
                                        std::size_t k = 1) const;

 private:
  enum class Line { blank, other, document_start, token };

  [[nodiscard]] std::string_view line_at(std::size_t& position) const;
  [[nodiscard]] Line classify(std::string_view line) const;
  [[nodiscard]] std::size_t count_cells(std::string_view line) const;

  std::string text_;
  ColumnFormat format_;
  std::string name_;
  std::size_t first_line_;
  std::size_t columns_;
  std::vector<std::uint64_t> lines_;  // where the line of each token begins
  std::vector<std::uint64_t> sentences_{0};
};

}  // namespace marginloom
