// What one thread's inference in the detection task changes.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "tasks/detection/detection.hpp"

namespace marginloom {

struct DetectionTask::Buffers final : Scratch {
  static constexpr float never = -std::numeric_limits<float>::infinity();

  ImageSpectrum spectrum;
  std::vector<Correlation> correlations;  // by size
  std::vector<ScorePlanes> planes;        // by size: scores, then with losses, then `never` where a window was removed
  std::vector<bool> present;              // by size: whether such windows fit into the image
  std::vector<double> biases;             // by label and size
  std::vector<bool> zero;                 // by label and size: all weights of pixels are 0
  std::vector<double> errors;             // by label and size: of the scores in the planes
  std::vector<float> row_maxima;          // by label, size and row
  std::size_t most_rows = 0;              // that a plane of this image has
  std::vector<double> values;             // of all windows, for their probabilities: as in the planes, or exact
  std::vector<bool> exact;                // which of them are

  [[nodiscard]] std::size_t place(std::size_t label, std::size_t size) const { return label * planes.size() + size; }

  void update_maximum(std::size_t label, std::size_t size, std::size_t row) {
    const ScorePlanes& of_size = planes[size];
    row_maxima[place(label, size) * most_rows + row] =
        correlation_kernels().maximum(of_size.scores + label * of_size.plane + row * of_size.stride, of_size.columns);
  }

  // The first window of a row, by its number in row_maxima.
  [[nodiscard]] Window row_start(std::size_t number) const {
    const std::size_t at = number / most_rows;
    return {static_cast<std::uint32_t>(at / planes.size()), static_cast<std::uint32_t>(at % planes.size()),
            static_cast<std::uint32_t>(number % most_rows), 0};
  }

  // The first window of a row that has this score.
  [[nodiscard]] Window first_in_row(std::size_t number, float score) const {
    Window window = row_start(number);
    const ScorePlanes& of_size = planes[window.size];
    const float* row = of_size.scores + window.label * of_size.plane + window.top * of_size.stride;
    while (row[window.left] != score) ++window.left;
    return window;
  }
};

}  // namespace marginloom
