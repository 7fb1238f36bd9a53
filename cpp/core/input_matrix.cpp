#include "core/input_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "core/common.hpp"
#include "core/kernels.hpp"
#include "core/prefetch.hpp"

namespace marginloom {
namespace {

void check_sparse(const InputData& data, std::size_t value_count) {
  require(data.offsets.size() == data.row_count + 1, "a sparse matrix needs one offset more than it has rows");
  require(
      data.offsets.front() == 0 && data.offsets.back() == data.columns.size() && std::ranges::is_sorted(data.offsets),
      "offsets of rows must start with 0, ascend and end at the last entry");
  require(value_count == data.columns.size(), "columns and values of a sparse matrix differ in number");
  for (std::size_t i = 0; i < data.row_count; ++i) {
    const auto columns = data.columns.subspan(data.offsets[i], data.offsets[i + 1] - data.offsets[i]);
    require(std::ranges::adjacent_find(columns, std::ranges::greater_equal()) == columns.end(),
            "the columns of a row must ascend, each once");
    require(columns.empty() || columns.back() < data.column_count, "a column is beyond the number of features");
  }
}

void check(const InputData& data) {
  require(data.singles.empty() || data.doubles.empty(), "values come in one precision");
  const std::size_t value_count = data.singles.size() + data.doubles.size();
  require(data.column_count < std::numeric_limits<std::uint32_t>::max(), "there are at most 4,294,967,294 features");
  require(std::isfinite(data.bias), "the bias must be finite");
  if (data.dense) {
    require(data.column_count == 0
                ? value_count == 0
                : value_count % data.column_count == 0 && value_count / data.column_count == data.row_count,
            "a dense matrix needs rows times columns values");
  } else {
    check_sparse(data, value_count);
  }
  const auto finite = [](auto value) { return std::isfinite(value); };
  require(std::ranges::all_of(data.singles, finite) && std::ranges::all_of(data.doubles, finite),
          "a feature value is NaN or infinite");
}

}  // namespace

InputMatrix::InputMatrix(const InputData& data) : data_(data) {
  check(data_);
  squared_norms_.resize(size(), 0.0);
  for (std::size_t i = 0; i < size(); ++i) {
    visit(i, [&](std::size_t, double value) { squared_norms_[i] += value * value; });
    if (!std::isfinite(squared_norms_[i])) {
      throw std::invalid_argument("the features of example " + std::to_string(i) + " are beyond the range of numbers");
    }
  }
}

// Calls call(values of the matrix) with a pointer to float or double.
template <class Call>
void InputMatrix::with_values(Call call) const {
  if (data_.doubles.empty()) {
    call(data_.singles.data());
  } else {
    call(data_.doubles.data());
  }
}

// The same for the values of one row.
template <class Call>
void InputMatrix::with_row(std::size_t i, Call call) const {
  const std::size_t first = data_.dense ? i * data_.column_count : data_.offsets[i];
  with_values([&](const auto* values) { call(values + first); });
}

namespace {

// The kernels by the type of the values.
struct ByType {
  const Kernels& kernel = kernels();
  void add_scaled(const double* rows, const std::uint32_t* row_of, const float* values, std::size_t count,
                  std::size_t stride, double* out) const {
    kernel.add_scaled_rows(rows, row_of, values, count, stride, out);
  }
  void add_scaled(const double* rows, const std::uint32_t* row_of, const double* values, std::size_t count,
                  std::size_t stride, double* out) const {
    kernel.add_scaled_rows_64(rows, row_of, values, count, stride, out);
  }
  void add_scaled_lines(const double* rows, const std::uint32_t* row_of, const float* values, std::size_t count,
                        double* out) const {
    kernel.add_scaled_lines(rows, row_of, values, count, out);
  }
  void add_scaled_lines(const double* rows, const std::uint32_t* row_of, const double* values, std::size_t count,
                        double* out) const {
    kernel.add_scaled_lines_64(rows, row_of, values, count, out);
  }
  void add_scaled(const float* rows, const std::uint32_t* row_of, const float* values, std::size_t count,
                  std::size_t stride, float* out) const {
    kernel.add_scaled_singles(rows, row_of, values, count, stride, out);
  }
  void add_scaled(const float* rows, const std::uint32_t* row_of, const double* values, std::size_t count,
                  std::size_t stride, float* out) const {
    kernel.add_scaled_singles_64(rows, row_of, values, count, stride, out);
  }
  void add_to(double* rows, const std::uint32_t* row_of, const float* values, std::size_t count, std::size_t stride,
              const double* step) const {
    kernel.add_to_rows(rows, row_of, values, count, stride, step);
  }
  void add_to(double* rows, const std::uint32_t* row_of, const double* values, std::size_t count, std::size_t stride,
              const double* step) const {
    kernel.add_to_rows_64(rows, row_of, values, count, stride, step);
  }
  void add_product(const double* rows, const float* values, std::size_t examples, std::size_t count, std::size_t stride,
                   double* out) const {
    kernel.add_product(rows, values, examples, count, stride, out);
  }
  void add_product(const double* rows, const double* values, std::size_t examples, std::size_t count,
                   std::size_t stride, double* out) const {
    kernel.add_product_64(rows, values, examples, count, stride, out);
  }
};

}  // namespace

void InputMatrix::prefetch(std::size_t i) const {
  const std::size_t count = entry_count(i);
  prefetch_norm(i);
  if (!data_.dense) prefetch_bytes(columns_of(i), count * sizeof(std::uint32_t));
  with_row(i, [&](const auto* values) { prefetch_bytes(values, count * sizeof *values); });
}

void InputMatrix::scores(std::size_t i, const double* rows, std::size_t stride, double* scores) const {
  std::fill_n(scores, stride, 0.0);
  with_row(
      i, [&](const auto* values) { ByType().add_scaled(rows, columns_of(i), values, entry_count(i), stride, scores); });
  if (data_.bias == 0) return;
  const double* row = rows + data_.column_count * stride;
  for (std::size_t c = 0; c < stride; ++c) scores[c] += data_.bias * row[c];
}

void InputMatrix::line_scores(std::size_t i, const double* rows, double* scores) const {
  const double* row = rows + data_.column_count * row_alignment;
  for (std::size_t c = 0; c < row_alignment; ++c) scores[c] = data_.bias == 0 ? 0 : data_.bias * row[c];
  with_row(i,
           [&](const auto* values) { ByType().add_scaled_lines(rows, columns_of(i), values, entry_count(i), scores); });
}

void InputMatrix::scores(std::span<const std::size_t> examples, const double* rows, std::size_t stride,
                         double* scores) const {
  for (std::size_t j = 0; j < examples.size();) {
    std::size_t end = j + 1;
    while (data_.dense && end < examples.size() && examples[end] == examples[end - 1] + 1) ++end;
    double* out = scores + j * stride;
    if (end == j + 1) {
      this->scores(examples[j], rows, stride, out);
    } else {
      std::fill_n(out, (end - j) * stride, 0.0);
      with_row(examples[j], [&](const auto* values) {
        ByType().add_product(rows, values, end - j, data_.column_count, stride, out);
      });
      const double* row = rows + data_.column_count * stride;
      for (std::size_t e = 0; data_.bias != 0 && e < end - j; ++e) {
        for (std::size_t c = 0; c < stride; ++c) out[e * stride + c] += data_.bias * row[c];
      }
    }
    j = end;
  }
}

void InputMatrix::add_scores(std::size_t i, const float* rows, std::size_t stride, float* scores) const {
  with_row(
      i, [&](const auto* values) { ByType().add_scaled(rows, columns_of(i), values, entry_count(i), stride, scores); });
  if (data_.bias == 0) return;
  const float* row = rows + data_.column_count * stride;
  for (std::size_t c = 0; c < stride; ++c) scores[c] += static_cast<float>(data_.bias) * row[c];
}

void InputMatrix::add_to_rows(std::size_t i, const double* step, std::size_t stride, double* rows) const {
  with_row(i, [&](const auto* values) { ByType().add_to(rows, columns_of(i), values, entry_count(i), stride, step); });
  if (data_.bias == 0) return;
  double* row = rows + data_.column_count * stride;
  for (std::size_t c = 0; c < stride; ++c) row[c] += data_.bias * step[c];
}

// Calls call(columns, null if they follow each other, values, how many, the first row of weights) for the entries of a
// row that lie in the range; the bias is left out.
template <class Call>
void InputMatrix::with_entries(std::size_t i, const ColumnRange& range, Call call) const {
  if (data_.dense) {
    const std::size_t end = std::min(range.end, data_.column_count);
    if (range.begin >= end) return;
    with_row(i, [&](const auto* values) { call(nullptr, values + range.begin, end - range.begin, range.begin); });
  } else {
    const auto [first, count] = range.segments[i];
    const std::uint32_t* columns = data_.columns.data() + first;
    with_values([&](const auto* values) { call(columns, values + first, count, 0); });
  }
}

void InputMatrix::scores(std::size_t i, const ColumnRange& range, const double* rows, std::size_t stride,
                         double* scores) const {
  std::fill_n(scores, stride, 0.0);
  with_entries(i, range, [&](const std::uint32_t* columns, const auto* values, std::size_t count, std::size_t first) {
    ByType().add_scaled(rows + first * stride, columns, values, count, stride, scores);
  });
  if (data_.bias == 0 || !range.contains(data_.column_count)) return;
  const double* row = rows + data_.column_count * stride;
  for (std::size_t c = 0; c < stride; ++c) scores[c] += data_.bias * row[c];
}

void InputMatrix::add_to_rows(std::size_t i, const ColumnRange& range, const double* step, std::size_t stride,
                              double* rows) const {
  with_entries(i, range, [&](const std::uint32_t* columns, const auto* values, std::size_t count, std::size_t first) {
    ByType().add_to(rows + first * stride, columns, values, count, stride, step);
  });
  if (data_.bias == 0 || !range.contains(data_.column_count)) return;
  double* row = rows + data_.column_count * stride;
  for (std::size_t c = 0; c < stride; ++c) row[c] += data_.bias * step[c];
}

// First where the entries are, some rows later the entries themselves.
void InputMatrix::prefetch(std::span<const std::size_t> coming, const ColumnRange& range) const {
  constexpr std::size_t near = 3;
  constexpr std::size_t far = 10;
  if (coming.size() > far && !data_.dense) prefetch_line(&range.segments[coming[far]]);
  if (coming.size() <= near) return;
  with_entries(coming[near], range,
               [](const std::uint32_t* columns, const auto* values, std::size_t count, std::size_t) {
                 if (columns) prefetch_bytes(columns, count * sizeof *columns);
                 prefetch_bytes(values, count * sizeof *values);
               });
}

// Where ranges begin, judged by some of the rows, and the number of columns.
std::vector<std::size_t> InputMatrix::boundaries(std::size_t count) const {
  constexpr std::size_t enough = 1000;  // rows
  std::vector<std::size_t> entries(width(), 1);
  const std::size_t skip = std::max<std::size_t>(size() / enough, 1);
  for (std::size_t i = 0; i < size() && !data_.dense; i += skip) {
    for (std::size_t j = data_.offsets[i]; j < data_.offsets[i + 1]; ++j) ++entries[data_.columns[j]];
  }
  const std::size_t total = std::accumulate(entries.begin(), entries.end(), std::size_t{0});
  std::vector<std::size_t> result;
  std::size_t sum = 0;
  for (std::size_t column = 0; column < entries.size(); ++column) {
    while (result.size() < count && sum * count >= result.size() * total) result.push_back(column);
    sum += entries[column];
  }
  result.resize(count + 1, width());
  return result;
}

std::vector<ColumnRange> InputMatrix::divided(std::size_t count) const {
  const std::vector<std::size_t> bounds = boundaries(count);
  std::vector<ColumnRange> ranges(count);
  for (std::size_t r = 0; r < count; ++r) {
    ColumnRange& range = ranges[r];
    range.begin = bounds[r];
    range.end = bounds[r + 1];
    if (data_.dense) continue;
    range.segments.resize(size());
    for (std::size_t i = 0; i < size(); ++i) {
      const std::size_t first =
          r == 0 ? data_.offsets[i] : ranges[r - 1].segments[i].first + ranges[r - 1].segments[i].count;
      const auto columns = data_.columns.subspan(first, data_.offsets[i + 1] - first);
      const auto end = std::ranges::lower_bound(columns, range.end);
      range.segments[i] = {first, static_cast<std::size_t>(end - columns.begin())};
    }
  }
  return ranges;
}

}  // namespace marginloom
