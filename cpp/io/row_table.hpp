// Sentences of rows of strings, as they come from Python.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "features/extractor.hpp"

namespace marginloom {

class RowTable final : public TokenColumns {
 public:
  explicit RowTable(std::size_t columns) : columns_(columns) {}

  // Add the cells of a token one by one, columns() of them, and close each sentence.
  void add_cell(std::string_view cell) {
    text_ += cell;
    ends_.push_back(text_.size());
  }
  void end_sentence() { sentences_.push_back((ends_.size() - 1) / columns_); }

  [[nodiscard]] std::size_t columns() const override { return columns_; }
  [[nodiscard]] const std::vector<std::uint64_t>& sentences() const override { return sentences_; }
  [[nodiscard]] std::string_view cell(std::size_t token, std::size_t column) const override {
    const std::size_t place = token * columns_ + column;
    return std::string_view(text_).substr(ends_[place], ends_[place + 1] - ends_[place]);
  }

 private:
  std::size_t columns_;
  std::string text_;
  std::vector<std::uint64_t> ends_{0};
  std::vector<std::uint64_t> sentences_{0};
};

}  // namespace marginloom
