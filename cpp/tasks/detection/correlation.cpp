#include "tasks/detection/correlation.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/interruption.hpp"

namespace marginloom {
namespace {

constexpr double rounding = std::numeric_limits<float>::epsilon() / 2;
constexpr double safety = 1.05;  // terms of higher order, and norms that are rounded themselves

[[nodiscard]] std::size_t round_up(std::size_t count, std::size_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

}  // namespace

void ImageSpectrum::start(const ImageView& image) {
  image_ = image;
  planned_ = false;
  transformed_ = false;
}

std::size_t ImageSpectrum::plan_number() {
  if (!planned_) {
    const std::size_t rows = FourierPlan::side(image_.height);
    const std::size_t columns = FourierPlan::side(image_.width);
    const auto same = [&](const auto& plan) { return plan->rows() == rows && plan->columns() == columns; };
    current_ = static_cast<std::size_t>(std::ranges::find_if(plans_, same) - plans_.begin());
    if (current_ == plans_.size()) plans_.push_back(std::make_unique<FourierPlan>(rows, columns));
    planned_ = true;
  }
  return current_;
}

FourierPlan& ImageSpectrum::plan() {
  return *plans_[plan_number()];
}

ComplexRows ImageSpectrum::channel(std::size_t k) {
  FourierPlan& grid = plan();
  const std::size_t size = grid.spectrum_size();
  if (!transformed_) {
    spectra_.resize(2 * size * image_.channels);
    for (std::size_t channel = 0; channel < image_.channels; ++channel) {
      const ComplexRows plane = grid.cleared_plane(image_.width);
      const float* pixels = image_.pixels + channel * image_.height * image_.width;
      for (std::size_t y = 0; y < image_.height; ++y) {
        std::memcpy(plane.real + y * plane.columns, pixels + y * image_.width, image_.width * sizeof(float));
      }
      float* spectrum = spectra_.data() + 2 * size * channel;
      grid.forward(plane, image_.width, spectrum, spectrum + size);
    }
    transformed_ = true;
  }
  float* spectrum = spectra_.data() + 2 * size * k;
  return {spectrum, spectrum + size, padded_columns(grid.rows())};
}

Correlation::Correlation(const Shape& shape)
    : shape_(shape),
      weights_(shape.templates * shape.weights()),
      norms_(round_up(shape.templates, 2)),
      versions_(pairs()),
      packed_(pairs()),
      taps_(round_up(shape.templates, template_block) * shape.weights()),
      errors_(round_up(shape.templates, 2)) {}

void Correlation::set_templates(const double* weights, std::size_t stride) {
  const std::size_t size = shape_.weights();
  for (std::size_t t = 0; t < shape_.templates; ++t) {
    double* copy = weights_.data() + t * size;
    const double* given = weights + t * stride;
    std::uint64_t& version = versions_[t / 2];
    if (version > 0 && std::memcmp(copy, given, size * sizeof(double)) == 0) continue;
    std::memcpy(copy, given, size * sizeof(double));
    double sum = 0;
    for (std::size_t k = 0; k < size; ++k) sum += copy[k] * copy[k];
    norms_[t] = std::sqrt(sum);
    ++version;  // once for each template of the pair that has changed; any other number will do
  }
}

double Correlation::pair_norm(std::size_t pair) const {
  return std::hypot(norms_[2 * pair], norms_[2 * pair + 1]);
}

ScorePlanes Correlation::correlate(const ImageView& image, ImageSpectrum& spectrum, Method method) {
  const bool fourier =
      method == Method::automatic ? fourier_is_faster(shape_, image.height, image.width) : method == Method::fourier;
  ScorePlanes planes;
  planes.rows = image.height - shape_.height + 1;
  planes.columns = image.width - shape_.width + 1;
  planes.stride = padded_columns(planes.columns);
  planes.plane = (fourier ? spectrum.plan().rows() : planes.rows) * planes.stride;
  const std::size_t needed = round_up(shape_.templates, template_block) * planes.plane;
  if (scores_.size() < needed) scores_.resize(needed);
  planes.scores = scores_.data();
  planes.errors = std::span(errors_).first(shape_.templates);
  if (fourier) {
    multiply_spectra(image, spectrum, planes);
  } else {
    correlate_directly(image, planes);
  }
  return planes;
}

// Taps of a block of templates lie together, channel by channel.
void Correlation::pack(std::size_t pair) {
  const std::size_t size = shape_.weights();
  for (std::size_t t = 2 * pair; t < std::min(2 * pair + 2, shape_.templates); ++t) {
    float* taps = taps_.data() + t / template_block * template_block * size + t % template_block;
    const double* weights = weights_.data() + t * size;
    for (std::size_t k = 0; k < size; ++k) taps[k * template_block] = static_cast<float>(weights[k]);
  }
}

void Correlation::correlate_directly(const ImageView& image, const ScorePlanes& planes) {
  for (std::size_t pair = 0; pair < pairs(); ++pair) {
    if (packed_[pair] == versions_[pair]) continue;
    pack(pair);
    packed_[pair] = versions_[pair];
  }
  const CorrelationKernels& kernel = correlation_kernels();
  const std::size_t size = shape_.weights();
  const std::size_t area = shape_.height * shape_.width;
  std::fill_n(planes.scores, round_up(shape_.templates, template_block) * planes.plane, 0.0F);
  for (std::size_t t = 0; t < shape_.templates; t += template_block) {
    for (std::size_t k = 0; k < shape_.channels; ++k) {
      count_steps(planes.rows * planes.stride * area);
      const Taps taps{taps_.data() + t * size + k * area * template_block, shape_.height, shape_.width};
      kernel.correlate(image.pixels + k * image.height * image.width, image.width, taps, planes.rows, planes.columns,
                       planes.scores + t * planes.plane, planes.stride, planes.plane);
    }
  }
  const double factor = safety * static_cast<double>(size + 2) * rounding * image.norm;
  for (std::size_t t = 0; t < shape_.templates; ++t) errors_[t] = factor * norms_[t];
}

// conj(F(a - i b)), with the scale of the inverse transform.
void Correlation::transform(std::size_t pair, FourierPlan& plan, float* spectra) {
  const std::size_t area = shape_.height * shape_.width;
  const std::size_t size = plan.spectrum_size();
  const float scale = 1 / static_cast<float>(plan.rows() * plan.columns());  // a power of 2: exact
  for (std::size_t k = 0; k < shape_.channels; ++k) {
    const ComplexRows plane = plan.cleared_plane(shape_.width);
    for (std::size_t part = 0; part < 2 && 2 * pair + part < shape_.templates; ++part) {
      const double* weights = this->weights(2 * pair + part) + k * area;
      float* rows = part == 0 ? plane.real : plane.imaginary;
      const double sign = part == 0 ? 1 : -1;
      for (std::size_t y = 0; y < shape_.height; ++y) {
        for (std::size_t x = 0; x < shape_.width; ++x) {
          rows[y * plane.columns + x] = static_cast<float>(sign * weights[y * shape_.width + x]);
        }
      }
    }
    float* real = spectra + 2 * size * k;
    plan.forward(plane, shape_.width, real, real + size);
    for (std::size_t j = 0; j < size; ++j) real[j] *= scale;
    for (std::size_t j = size; j < 2 * size; ++j) real[j] *= -scale;
  }
}

void Correlation::multiply_spectra(const ImageView& image, ImageSpectrum& spectrum, const ScorePlanes& planes) {
  const CorrelationKernels& kernel = correlation_kernels();
  FourierPlan& plan = spectrum.plan();
  const std::size_t number = spectrum.plan_number();
  const std::size_t size = plan.spectrum_size();
  const std::size_t pair_size = 2 * size * shape_.channels;
  if (spectra_.size() <= number) spectra_.resize(number + 1);
  Spectra& templates = spectra_[number];
  templates.values.resize(pairs() * pair_size);
  templates.versions.resize(pairs());
  const double error = plan.relative_error();
  const double points = static_cast<double>(plan.rows() * plan.columns());
  for (std::size_t pair = 0; pair < pairs(); ++pair) {
    count_steps(8 * pair_size);
    float* values = templates.values.data() + pair * pair_size;
    if (templates.versions[pair] != versions_[pair]) {
      transform(pair, plan, values);
      templates.versions[pair] = versions_[pair];
    }
    const ComplexRows sum = plan.cleared_sum();
    for (std::size_t k = 0; k < shape_.channels; ++k) {
      float* real = values + 2 * size * k;
      kernel.multiply_add(spectrum.channel(k), {real, real + size, sum.columns}, sum, size);
    }
    const double product = std::sqrt(
        points * (double{kernel.squared_norm(sum.real, size)} + double{kernel.squared_norm(sum.imaginary, size)}));
    const double spectra_error = 2 * error + static_cast<double>(shape_.channels + 4) * rounding;
    const double bound = safety * (spectra_error * pair_norm(pair) * image.norm + error * product);
    errors_[2 * pair] = errors_[2 * pair + 1] = bound;
    float* scores = planes.scores + 2 * pair * planes.plane;
    plan.backward(planes.columns, scores, scores + planes.plane);
  }
}

// Estimated from measurements, see docs/detection.md. A multiplication of the direct product costs 1, a point of
// a transform `point` for each factor 2 of the grid; one pair of templates is taken to be new.
bool Correlation::fourier_is_faster(const Shape& shape, std::size_t height, std::size_t width) {
  constexpr double point = 6;
  const double positions = static_cast<double>((height - shape.height + 1) * padded_columns(width - shape.width + 1));
  const double direct = positions * static_cast<double>(round_up(shape.templates, template_block) * shape.weights());
  const double grid = static_cast<double>(FourierPlan::side(height) * FourierPlan::side(width));
  const double pairs = static_cast<double>((shape.templates + 1) / 2);
  const double channels = static_cast<double>(shape.channels);
  return point * grid * (std::log2(grid) * (2 * channels + pairs) + 2 * channels * pairs) < direct;
}

}  // namespace marginloom
