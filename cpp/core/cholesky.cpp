#include "core/cholesky.hpp"

#include <cmath>

#include "core/kernels.hpp"

namespace marginloom {
namespace {

double product(const double* first, const double* second, std::size_t count) {
  double sum = 0;
  for (std::size_t k = 0; k < count; ++k) sum += first[k] * second[k];
  return sum;
}

// The first `count` columns of some rows, given the rows before them.
void reduce_rows(double* rows, const double* matrix, std::size_t pitch, std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) {
    const double* other = matrix + j * pitch;
    double sums[product_rows];
    kernels().row_products(rows, pitch, other, j, sums);
    for (std::size_t r = 0; r < product_rows; ++r) rows[r * pitch + j] = (rows[r * pitch + j] - sums[r]) / other[j];
  }
}

// The columns from `begin` to the diagonal of row i, given the rows before it and the columns before `begin`.
bool finish_row(double* matrix, std::size_t pitch, std::size_t i, std::size_t begin) {
  double* row = matrix + i * pitch;
  for (std::size_t j = begin; j < i; ++j) {
    const double* other = matrix + j * pitch;
    row[j] = (row[j] - product(row, other, j)) / other[j];
  }
  const double square = row[i] - product(row, row, i);
  row[i] = std::sqrt(square);
  return square > 0;
}

}  // namespace

bool factor_cholesky(std::span<double> matrix, std::size_t order, std::size_t pitch) {
  // Some rows together, so that each number of the rows before is read once for all of them.
  const std::size_t together = order - order % product_rows;
  for (std::size_t i = 0; i < order; ++i) {
    const std::size_t first = i < together ? i - i % product_rows : 0;
    if (i == first && i < together) reduce_rows(matrix.data() + i * pitch, matrix.data(), pitch, i);
    if (!finish_row(matrix.data(), pitch, i, first)) return false;
  }
  return true;
}

void solve_cholesky(std::span<const double> factor, std::size_t pitch, std::span<double> b) {
  const std::size_t order = b.size();
  for (std::size_t i = 0; i < order; ++i) {
    const double* row = factor.data() + i * pitch;
    b[i] = (b[i] - product(row, b.data(), i)) / row[i];
  }
  for (std::size_t i = order; i-- > 0;) {
    const double* row = factor.data() + i * pitch;
    b[i] /= row[i];
    for (std::size_t k = 0; k < i; ++k) b[k] -= row[k] * b[i];
  }
}

}  // namespace marginloom
