#include "tasks/input_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "core/kernels.hpp"
#include "core/prefetch.hpp"
#include "tasks/common.hpp"

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

// Calls call(values of the row) with a pointer to float or double.
template <class Call>
void InputMatrix::with_row(std::size_t i, Call call) const {
  const std::size_t first = data_.dense ? i * data_.column_count : data_.offsets[i];
  if (data_.doubles.empty()) {
    call(data_.singles.data() + first);
  } else {
    call(data_.doubles.data() + first);
  }
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
  __builtin_prefetch(&squared_norms_[i]);
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

void InputMatrix::add_to_rows(std::size_t i, const double* step, std::size_t stride, double* rows) const {
  with_row(i, [&](const auto* values) { ByType().add_to(rows, columns_of(i), values, entry_count(i), stride, step); });
  if (data_.bias == 0) return;
  double* row = rows + data_.column_count * stride;
  for (std::size_t c = 0; c < stride; ++c) row[c] += data_.bias * step[c];
}

}  // namespace marginloom
