// The inputs of a classifier: one row of numbers per example, sparse or dense, in single or double precision, and its
// products with rows of weights. A bias is one more column, after the others, with the same value in every row.
//
// Weights of `width` rows of `stride` doubles, one column per class, make the scores of a row sums of contiguous
// memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/prefetch.hpp"
#include "core/types.hpp"

namespace marginloom {

// The memory belongs to the caller and must outlive the matrix. Exactly one of `singles` and `doubles` is used.
struct InputData {
  std::size_t row_count = 0;
  std::size_t column_count = 0;
  bool dense = false;                      // values: row_count times column_count
  std::span<const std::uint64_t> offsets;  // sparse: row i has the entries offsets[i] .. offsets[i + 1] - 1
  std::span<const std::uint32_t> columns;  // ascending within a row, each once
  std::span<const float> singles;
  std::span<const double> doubles;
  double bias = 0;  // 0: none

  [[nodiscard]] std::size_t width() const { return column_count + (bias != 0 ? 1 : 0); }  // with the bias
};

// Consecutive columns, the bias among them, and for every row of a sparse matrix where its entries in them are.
struct ColumnRange {
  struct Segment {
    std::size_t first = 0;  // of all entries of the matrix
    std::size_t count = 0;
  };

  std::size_t begin = 0;
  std::size_t end = 0;
  std::vector<Segment> segments;  // none: of a dense matrix

  [[nodiscard]] bool contains(std::size_t column) const { return begin <= column && column < end; }
};

class InputMatrix {
 public:
  // Throws std::invalid_argument if the data contradict themselves.
  explicit InputMatrix(const InputData& data);

  [[nodiscard]] std::size_t size() const { return data_.row_count; }
  [[nodiscard]] std::size_t width() const { return data_.width(); }
  [[nodiscard]] bool dense() const { return data_.dense; }
  [[nodiscard]] double squared_norm(std::size_t i) const { return squared_norms_[i]; }
  [[nodiscard]] std::size_t entry_count(std::size_t i) const {  // stored ones
    return data_.dense ? data_.column_count : data_.offsets[i + 1] - data_.offsets[i];
  }

  // Calls function(column, value) for the entries of a row that are not 0, the bias last.
  template <class Function>
  void visit(std::size_t i, Function function) const {
    if (data_.doubles.empty()) {
      visit_values(i, data_.singles.data(), function);
    } else {
      visit_values(i, data_.doubles.data(), function);
    }
  }

  // Asks for the memory of a row, so that it has arrived when it is visited.
  void prefetch(std::size_t i) const;
  void prefetch_norm(std::size_t i) const { prefetch_line(&squared_norms_[i]); }

  // scores[c] = sum_f x_f rows[f * stride + c], for c < stride.
  void scores(std::size_t i, const double* rows, std::size_t stride, double* scores) const;

  // The same for rows of row_alignment columns and nothing else, in another order of additions that takes less time.
  void line_scores(std::size_t i, const double* rows, double* scores) const;

  // The same for several examples, one after the other in `scores`: neighbours in a dense matrix as one product of
  // matrices.
  void scores(std::span<const std::size_t> examples, const double* rows, std::size_t stride, double* scores) const;

  // scores[c] += the same sum for rows in single precision; stride must be a multiple of 16.
  void add_scores(std::size_t i, const float* rows, std::size_t stride, float* scores) const;

  // rows[f * stride + c] += x_f step[c].
  void add_to_rows(std::size_t i, const double* step, std::size_t stride, double* rows) const;

  // The same for the part of a row that lies in a range of columns: other rows of weights are not touched. scores()
  // adds nothing to what another range gave, it replaces it.
  void scores(std::size_t i, const ColumnRange& range, const double* rows, std::size_t stride, double* scores) const;
  void add_to_rows(std::size_t i, const ColumnRange& range, const double* step, std::size_t stride, double* rows) const;

  void prefetch(std::span<const std::size_t> coming, const ColumnRange& range) const;

  // Divides the columns into ranges with about the same number of entries.
  [[nodiscard]] std::vector<ColumnRange> divided(std::size_t count) const;

 private:
  template <class Value, class Function>
  void visit_values(std::size_t i, const Value* values, Function& function) const {
    if (data_.dense) {
      const Value* row = values + i * data_.column_count;
      for (std::size_t f = 0; f < data_.column_count; ++f) {
        if (row[f] != 0) function(f, static_cast<double>(row[f]));
      }
    } else {
      for (std::size_t j = data_.offsets[i]; j < data_.offsets[i + 1]; ++j) {
        function(static_cast<std::size_t>(data_.columns[j]), static_cast<double>(values[j]));
      }
    }
    if (data_.bias != 0) function(data_.column_count, data_.bias);
  }
  template <class Call>
  void with_values(Call call) const;
  template <class Call>
  void with_row(std::size_t i, Call call) const;
  template <class Call>
  void with_entries(std::size_t i, const ColumnRange& range, Call call) const;
  [[nodiscard]] std::vector<std::size_t> boundaries(std::size_t count) const;
  [[nodiscard]] const std::uint32_t* columns_of(std::size_t i) const {
    return data_.dense ? nullptr : data_.columns.data() + data_.offsets[i];
  }

  InputData data_;
  std::vector<double> squared_norms_;  // with the bias
};

}  // namespace marginloom
