// Scores of templates at all positions of an image: their correlations, in single precision with a bound of the error.
//
// Two ways, of which the faster one at the size at hand is taken:
//   direct    sums of products, blocks of templates and positions in registers
//   Fourier   products of spectra. Templates a and b share one transform, as the two parts of a complex number: with
//             v = conj(F(a - i b)), the inverse transform of F(x) v is (x correlated with a) + i (x correlated with b).
//
// The error of a score is below
//   direct    (n + 2) u |a| |x|                                for templates of n weights, u = 2^-24
//   Fourier   (2 e + (K + 4) u) |v| |x| + e |scores|           with e of FourierPlan and K channels; |scores|, over the
//                                                              whole grid, is the norm of the product of the spectra
// because an error of the spectra enters a score through |dX|_2 |V|_2, and one of the inverse transform through its
// norm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tasks/detection/fourier.hpp"

namespace marginloom {

// Planes of height * width pixels, one per channel; column_alignment more floats may be read behind the last.
struct ImageView {
  const float* pixels = nullptr;
  std::size_t height = 0;
  std::size_t width = 0;
  std::size_t channels = 1;
  double norm = 0;  // of all pixels
};

// The spectrum of one image at a time, with the plans of the grids met so far.
class ImageSpectrum {
 public:
  void start(const ImageView& image);

  // The plan of the image's grid, and the spectra of its channels; transformed when they are first asked for.
  [[nodiscard]] FourierPlan& plan();
  [[nodiscard]] ComplexRows channel(std::size_t k);
  [[nodiscard]] std::size_t plan_number();  // 0, 1, ... in the order in which plans were made

 private:
  ImageView image_;
  std::size_t current_ = 0;  // the plan
  bool planned_ = false;
  bool transformed_ = false;
  std::vector<std::unique_ptr<FourierPlan>> plans_;
  std::vector<float> spectra_;
};

// Scores of all templates: plane t, row y, column x at t * plane + y * stride + x.
struct ScorePlanes {
  float* scores = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t stride = 0;
  std::size_t plane = 0;
  std::span<const double> errors;  // of each template's scores
};

// Templates of one size.
class Correlation {
 public:
  enum class Method { automatic, direct, fourier };

  struct Shape {
    std::size_t templates = 0;
    std::size_t channels = 1;
    std::size_t height = 0;
    std::size_t width = 0;
    [[nodiscard]] std::size_t weights() const { return channels * height * width; }  // of one template
  };

  explicit Correlation(const Shape& shape);

  // Takes a copy of the templates, template t at weights + t * stride (channels, rows, columns). Those that have not
  // changed since the last call cost a comparison and no more.
  void set_templates(const double* weights, std::size_t stride);

  // The templates as copied.
  [[nodiscard]] const double* weights(std::size_t t) const { return weights_.data() + t * shape_.weights(); }

  [[nodiscard]] double norm(std::size_t t) const { return norms_[t]; }

  // Scores at all positions. The image must be at least as large as the templates, and `spectrum` started with it. The
  // result lives until the next call.
  [[nodiscard]] ScorePlanes correlate(const ImageView& image, ImageSpectrum& spectrum,
                                      Method method = Method::automatic);

  // Whether products of spectra are estimated to be faster.
  [[nodiscard]] static bool fourier_is_faster(const Shape& shape, std::size_t height, std::size_t width);

 private:
  struct Spectra {  // of pairs of templates, on one grid
    std::vector<float> values;
    std::vector<std::uint64_t> versions;
  };

  [[nodiscard]] std::size_t pairs() const { return (shape_.templates + 1) / 2; }
  [[nodiscard]] double pair_norm(std::size_t pair) const;
  void pack(std::size_t pair);
  void correlate_directly(const ImageView& image, const ScorePlanes& planes);
  void multiply_spectra(const ImageView& image, ImageSpectrum& spectrum, const ScorePlanes& planes);
  void transform(std::size_t pair, FourierPlan& plan, float* spectra);

  Shape shape_;
  std::vector<double> weights_;
  std::vector<double> norms_;            // of templates
  std::vector<std::uint64_t> versions_;  // of pairs; 0 before the first
  std::vector<std::uint64_t> packed_;    // versions of the packed taps
  std::vector<float> taps_;
  std::vector<Spectra> spectra_;  // by the number of the plan
  std::vector<float> scores_;
  std::vector<double> errors_;
};

}  // namespace marginloom
