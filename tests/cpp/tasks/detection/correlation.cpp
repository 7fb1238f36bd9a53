#include "tasks/detection/correlation.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/kernels.hpp"
#include "core/random.hpp"
#include "problems.hpp"
#include "test.hpp"

using marginloom::Correlation;
using marginloom::ImageSpectrum;
using marginloom::ImageView;
using marginloom::Random;
using marginloom::ScorePlanes;

namespace {

struct Case {
  std::size_t height, width;
  Correlation::Shape shape;
  std::vector<float> pixels;
  std::vector<double> weights;

  Case(Random& random, std::size_t longest) {
    shape.templates = 1 + random.below(7);
    shape.channels = 1 + random.below(3);
    shape.height = 1 + random.below(12);
    shape.width = 1 + random.below(12);
    height = shape.height + random.below(longest);
    width = shape.width + random.below(longest);
    pixels.resize(shape.channels * height * width + marginloom::column_alignment);
    for (float& pixel : pixels) pixel = static_cast<float>(problems::uniform(random));
    weights = problems::random_vector(shape.templates * shape.weights(), random, problems::uniform);
  }
  [[nodiscard]] ImageView image() const {
    double sum = 0;
    for (std::size_t k = 0; k < shape.channels * height * width; ++k) sum += double{pixels[k]} * pixels[k];
    return {pixels.data(), height, width, shape.channels, std::sqrt(sum)};
  }
  [[nodiscard]] double score(std::size_t t, std::size_t top, std::size_t left) const {
    double sum = 0;
    for (std::size_t k = 0; k < shape.channels; ++k) {
      for (std::size_t y = 0; y < shape.height; ++y) {
        for (std::size_t x = 0; x < shape.width; ++x) {
          sum += weights[t * shape.weights() + (k * shape.height + y) * shape.width + x] *
                 pixels[(k * height + top + y) * width + left + x];
        }
      }
    }
    return sum;
  }
};

// The largest error of all scores, as a share of its bound.
double largest_share(const Case& problem, const ScorePlanes& planes) {
  double largest = 0;
  for (std::size_t t = 0; t < problem.shape.templates; ++t) {
    for (std::size_t y = 0; y < planes.rows; ++y) {
      for (std::size_t x = 0; x < planes.columns; ++x) {
        const double error = std::abs(planes.scores[t * planes.plane + y * planes.stride + x] - problem.score(t, y, x));
        largest = std::max(largest, error / planes.errors[t]);
      }
    }
  }
  return largest;
}

// Runs a check with every instruction set of this machine.
template <class Check>
void with_every_kernel(Check check) {
  const std::string chosen = marginloom::kernels().name;
  for (const auto name : marginloom::available_kernels()) {
    (void)marginloom::select_kernels(name);
    check();
  }
  (void)marginloom::select_kernels(chosen);
}

}  // namespace

TEST("correlation: both ways stay within their bounds of the sums of products, whatever the sizes") {
  with_every_kernel([] {
    Random random(1);
    for (int round = 0; round < 60; ++round) {
      const Case problem(random, 30);
      const ImageView image = problem.image();
      Correlation correlation(problem.shape);
      correlation.set_templates(problem.weights.data(), problem.shape.weights());
      ImageSpectrum spectrum;
      spectrum.start(image);
      CHECK(largest_share(problem, correlation.correlate(image, spectrum, Correlation::Method::direct)) <= 1);
      CHECK(largest_share(problem, correlation.correlate(image, spectrum, Correlation::Method::fourier)) <= 1);
    }
  });
}

TEST("correlation: bounds are no more than a thousandth of the scores' scale") {
  Random random(2);
  const Case problem(random, 40);
  const ImageView image = problem.image();
  Correlation correlation(problem.shape);
  correlation.set_templates(problem.weights.data(), problem.shape.weights());
  ImageSpectrum spectrum;
  spectrum.start(image);
  for (const auto method : {Correlation::Method::direct, Correlation::Method::fourier}) {
    const ScorePlanes planes = correlation.correlate(image, spectrum, method);
    for (std::size_t t = 0; t < problem.shape.templates; ++t) {
      CHECK(planes.errors[t] < 1e-3 * correlation.norm(t) * image.norm);
    }
  }
}

TEST("correlation: templates that change are noticed, one by one, on every grid") {
  Random random(3);
  Case problem(random, 20);
  Correlation correlation(problem.shape);
  ImageSpectrum spectrum;
  for (int round = 0; round < 20; ++round) {
    const std::size_t t = random.below(problem.shape.templates);
    problem.weights[t * problem.shape.weights() + random.below(problem.shape.weights())] += 1;
    problem.height = problem.shape.height + random.below(20);  // fewer pixels, other grids
    problem.pixels.resize(problem.shape.channels * problem.height * problem.width + marginloom::column_alignment);
    const ImageView image = problem.image();
    correlation.set_templates(problem.weights.data(), problem.shape.weights());
    spectrum.start(image);
    const auto method = round % 3 == 0 ? Correlation::Method::direct : Correlation::Method::fourier;
    CHECK(largest_share(problem, correlation.correlate(image, spectrum, method)) <= 1);
  }
}

TEST("correlation: small windows go the direct way, large ones through spectra") {
  CHECK(!Correlation::fourier_is_faster({10, 1, 8, 8}, 18, 18));
  CHECK(Correlation::fourier_is_faster({10, 1, 28, 28}, 64, 64));
}
