// Two-dimensional discrete Fourier transforms of planes, for correlation by products of spectra.
//
// A plane lies in rows of complex numbers, real and imaginary parts apart. Rows are transformed as whole vectors,
// column by column in parallel, then the plane is transposed and transformed again, so no loop ever shuffles a register
// except the transposition. Spectra are left transposed and in a scrambled order, the same for all: products do not
// mind.
#pragma once

#include <cstddef>
#include <vector>

#include "tasks/detection/correlation_kernels.hpp"

namespace marginloom {

class FourierPlan {
 public:
  // For planes of up to height times width; the grid's sides are the next powers of 2.
  FourierPlan(std::size_t height, std::size_t width);

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] std::size_t spectrum_size() const { return columns_ * padded_columns(rows_); }  // floats of each part
  [[nodiscard]] static std::size_t side(std::size_t length);

  // A plane to fill before forward(): rows() rows of padded_columns(width) numbers, all 0.
  [[nodiscard]] ComplexRows cleared_plane(std::size_t width);

  // Transforms that plane, whose first `width` columns were filled, into a spectrum.
  void forward(const ComplexRows& plane, std::size_t width, float* real, float* imaginary);

  // Sums of products to fill before backward(): spectrum_size() numbers, all 0.
  [[nodiscard]] ComplexRows cleared_sum();

  // Transforms cleared_sum() and writes the first `width` columns of the plane, not scaled, to rows() rows of
  // padded_columns(width) numbers.
  void backward(std::size_t width, float* real, float* imaginary);

  // The relative error of a transform in the Euclidean norm: 7 roundings for each factor 2 of the grid (Higham,
  // Accuracy and Stability of Numerical Algorithms, theorem 24.2, with rounded twiddles).
  [[nodiscard]] double relative_error() const;

 private:
  std::size_t rows_;
  std::size_t columns_;
  std::vector<float> row_twiddles_;     // of transforms along y
  std::vector<float> column_twiddles_;  // of transforms along x
  std::vector<float> plane_;
  std::vector<float> sum_;
};

}  // namespace marginloom
