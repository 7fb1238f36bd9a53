// The right labels of the examples, which have all labels of a row or so many consecutive ones each, made of the sets
// of whole rows: a bit per row and label. Only sets that do not begin with a byte of their row are kept once more.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/prefetch.hpp"
#include "tasks/multilabel/label_sets.hpp"

namespace marginloom {

class GoldSets {
 public:
  // `rows` has a set per row, or is empty, and must outlive it.
  GoldSets(std::span<const std::uint8_t> rows, std::size_t labels, std::size_t labels_per_example)
      : rows_(rows),
        row_bytes_(label_set_bytes(labels)),
        parts_((labels + labels_per_example - 1) / labels_per_example),
        bytes_(label_set_bytes(labels_per_example)),
        single_(parts_ > 1 && labels_per_example == 1) {
    if (!single_ && row_bytes_ != parts_ * bytes_) cut(labels, labels_per_example);
  }

  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] std::size_t rows() const { return rows_.size() / row_bytes_; }
  [[nodiscard]] ByteView row(std::size_t r) const { return rows_.subspan(r * row_bytes_, row_bytes_); }
  [[nodiscard]] ByteView of(std::size_t i) const {
    static constexpr std::uint8_t sets_of_one[] = {0, 1};
    if (single_) return {&sets_of_one[has_label(row(i / parts_), i % parts_) ? 1 : 0], 1};
    return ByteView(cut_.empty() ? rows_ : cut_).subspan(i * bytes_, bytes_);
  }
  void prefetch(std::size_t i) const {
    if (empty()) return;
    prefetch_line(single_ ? &rows_[i / parts_ * row_bytes_ + i % parts_ / 8] : of(i).data());
  }

 private:
  void cut(std::size_t labels, std::size_t labels_per_example) {
    cut_.resize(rows() * parts_ * bytes_);
    for (std::size_t i = 0; i < rows() * parts_; ++i) {
      const std::size_t first = i % parts_ * labels_per_example;
      for (std::size_t l = first; l < std::min(first + labels_per_example, labels); ++l) {
        put_label(std::span(cut_).subspan(i * bytes_, bytes_), l - first, has_label(row(i / parts_), l));
      }
    }
  }

  std::span<const std::uint8_t> rows_;
  std::size_t row_bytes_;
  std::size_t parts_;  // examples of a row
  std::size_t bytes_;  // of an example's set
  bool single_;
  std::vector<std::uint8_t> cut_;
};

}  // namespace marginloom
