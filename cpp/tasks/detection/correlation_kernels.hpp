// The loops of correlation that profit from wide registers, in single precision, compiled once for each instruction
// set. Versions may round differently: whoever uses them allows for the error (see correlation.hpp).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace marginloom {

// Rows of floats that these loops work on are padded to a multiple of this many: one cache line.
inline constexpr std::size_t column_alignment = 16;
// Templates that the direct product takes at once.
inline constexpr std::size_t template_block = 4;

[[nodiscard]] constexpr std::size_t padded_columns(std::size_t columns) {
  return (columns + column_alignment - 1) / column_alignment * column_alignment;
}

// Templates of one size, packed: taps[(dy * width + dx) * template_block + t] for the template_block templates.
struct Taps {
  const float* values;
  std::size_t height;
  std::size_t width;
};

// A matrix of complex numbers in two parts, rows of `columns` floats.
struct ComplexRows {
  float* real;
  float* imaginary;
  std::size_t columns;  // a multiple of column_alignment
};

struct CorrelationKernels {
  const char* name;

  // out[t * plane + y * stride + x] += sum taps[dy][dx][t] image[(y + dy) * image_stride + x + dx], for y < rows and
  // x < columns. Reads up to column_alignment floats beyond the image, and writes up to the end of a padded row.
  void (*correlate)(const float* image, std::size_t image_stride, const Taps& taps, std::size_t rows,
                    std::size_t columns, float* out, std::size_t stride, std::size_t plane);

  // The discrete Fourier transform of every column, in place; `length` rows, a power of 2, and twiddles(length).
  // Frequencies come out in a scrambled order, which backward() expects. Neither is scaled.
  void (*forward)(const ComplexRows& rows, std::size_t length, const float* twiddles);
  void (*backward)(const ComplexRows& rows, std::size_t length, const float* twiddles);

  // sum += a * b, elementwise, for `count` complex numbers, a multiple of column_alignment.
  void (*multiply_add)(const ComplexRows& a, const ComplexRows& b, const ComplexRows& sum, std::size_t count);

  // to[c * to_stride + r] = from[r * from_stride + c]; rows and columns are multiples of 4.
  void (*transpose)(const float* from, std::size_t from_stride, std::size_t rows, std::size_t columns, float* to,
                    std::size_t to_stride);

  float (*maximum)(const float* values, std::size_t count);       // of at least one
  float (*squared_norm)(const float* values, std::size_t count);  // count is a multiple of column_alignment
};

// Those of the instruction set that kernels() uses.
[[nodiscard]] const CorrelationKernels& correlation_kernels();

// What forward() and backward() of that length need.
[[nodiscard]] std::vector<float> twiddles(std::size_t length);

}  // namespace marginloom
