#include "tasks/detection/fourier.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/interruption.hpp"

namespace marginloom {

FourierPlan::FourierPlan(std::size_t height, std::size_t width)
    : rows_(side(height)),
      columns_(side(width)),
      row_twiddles_(twiddles(rows_)),
      column_twiddles_(twiddles(columns_)),
      plane_(2 * rows_ * padded_columns(columns_)),
      sum_(2 * spectrum_size()) {}

std::size_t FourierPlan::side(std::size_t length) {
  constexpr std::size_t least = 4;  // transposition works on squares of 4
  return std::bit_ceil(std::max(length, least));
}

ComplexRows FourierPlan::cleared_plane(std::size_t width) {
  const std::size_t columns = padded_columns(width);
  std::fill_n(plane_.begin(), 2 * rows_ * columns, 0.0F);
  return {plane_.data(), plane_.data() + rows_ * columns, columns};
}

void FourierPlan::forward(const ComplexRows& plane, std::size_t width, float* real, float* imaginary) {
  const CorrelationKernels& kernel = correlation_kernels();
  const std::size_t stride = padded_columns(rows_);
  const std::size_t filled = std::min(padded_columns(width), columns_);
  kernel.forward(plane, rows_, row_twiddles_.data());
  count_steps(spectrum_size());
  if (filled < columns_ || stride > rows_) {
    std::fill_n(real, spectrum_size(), 0.0F);
    std::fill_n(imaginary, spectrum_size(), 0.0F);
  }
  kernel.transpose(plane.real, plane.columns, rows_, filled, real, stride);
  kernel.transpose(plane.imaginary, plane.columns, rows_, filled, imaginary, stride);
  count_steps(spectrum_size());
  kernel.forward({real, imaginary, stride}, columns_, column_twiddles_.data());
}

ComplexRows FourierPlan::cleared_sum() {
  std::ranges::fill(sum_, 0.0F);
  return {sum_.data(), sum_.data() + spectrum_size(), padded_columns(rows_)};
}

void FourierPlan::backward(std::size_t width, float* real, float* imaginary) {
  const CorrelationKernels& kernel = correlation_kernels();
  const ComplexRows sum{sum_.data(), sum_.data() + spectrum_size(), padded_columns(rows_)};
  const std::size_t kept = (width + 3) / 4 * 4;
  const std::size_t stride = padded_columns(width);
  kernel.backward(sum, columns_, column_twiddles_.data());
  count_steps(spectrum_size());
  kernel.transpose(sum.real, sum.columns, kept, rows_, real, stride);
  kernel.transpose(sum.imaginary, sum.columns, kept, rows_, imaginary, stride);
  count_steps(spectrum_size());
  kernel.backward({real, imaginary, stride}, rows_, row_twiddles_.data());
}

double FourierPlan::relative_error() const {
  constexpr double rounding = std::numeric_limits<float>::epsilon() / 2;
  return 7 * rounding * std::log2(static_cast<double>(rows_ * columns_));
}

}  // namespace marginloom
