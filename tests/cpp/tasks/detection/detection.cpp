#include "tasks/detection/detection.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "core/kernels.hpp"
#include "core/random.hpp"
#include "problems.hpp"
#include "test.hpp"

using marginloom::Candidate;
using marginloom::CandidateBatch;
using marginloom::DetectionData;
using marginloom::DetectionOptions;
using marginloom::DetectionTask;
using marginloom::FindOptions;
using marginloom::Output;
using marginloom::Random;
using marginloom::WeightWriter;
using marginloom::Window;

namespace {

// Small images, some of them blank in large parts, with numbers that add without rounding if asked for.
struct Detections {
  std::vector<float> pixels;
  std::vector<std::uint32_t> heights, widths, gold;
  std::size_t channels, labels;
  DetectionOptions options;

  Detections(Random& random, bool exact) : channels(1 + random.below(2)), labels(1 + random.below(4)) {
    for (std::size_t s = 1 + random.below(2); s > 0; --s) {
      options.sizes.push_back(
          {1 + static_cast<std::uint32_t>(random.below(4)), 1 + static_cast<std::uint32_t>(random.below(4))});
    }
    options.bias = random.below(2) == 0;
    for (int i = 0; i < 4; ++i) add_image(random, exact);
    pixels.resize(pixels.size() + marginloom::column_alignment);
    std::uint32_t reach_y = 0, reach_x = 0;
    for (const auto& size : options.sizes) {
      reach_y = std::max(reach_y, size.height);
      reach_x = std::max(reach_x, size.width);
    }
    const std::size_t table = options.sizes.size() * options.sizes.size() * (2 * reach_y + 1) * (2 * reach_x + 1);
    for (std::size_t k = 0; k < labels * labels; ++k) options.loss_tables.push_back(static_cast<std::uint32_t>(k));
    for (std::size_t k = 0; k < labels * labels * table; ++k) options.losses.push_back(random.below(8) / 4.0);
    for (std::size_t label = 0; label < labels; ++label) {  // gold itself
      for (std::size_t s = 0; s < options.sizes.size(); ++s) {
        const std::size_t pair = ((label * labels + label) * options.sizes.size() + s) * options.sizes.size() + s;
        options.losses[(pair * (2 * reach_y + 1) + reach_y) * (2 * reach_x + 1) + reach_x] = 0;
      }
    }
  }

  void add_image(Random& random, bool exact) {
    const auto& first = options.sizes[0];
    const auto height = first.height + static_cast<std::uint32_t>(random.below(8));
    const auto width = first.width + static_cast<std::uint32_t>(random.below(8));
    const std::size_t blank_rows = random.below(height + 1);
    for (std::size_t k = 0; k < channels; ++k) {
      for (std::size_t y = 0; y < height; ++y) {
        for (std::size_t x = 0; x < width; ++x) {
          const double value = exact ? problems::eighths(random) : problems::uniform(random);
          pixels.push_back(y < blank_rows ? 0.0F : static_cast<float>(value));
        }
      }
    }
    heights.push_back(height);
    widths.push_back(width);
    gold.insert(gold.end(), {static_cast<std::uint32_t>(random.below(labels)), 0,
                             static_cast<std::uint32_t>(random.below(height - first.height + 1)),
                             static_cast<std::uint32_t>(random.below(width - first.width + 1))});
  }

  [[nodiscard]] DetectionData data() const { return {pixels, heights, widths, gold, channels, labels}; }
  [[nodiscard]] DetectionTask task() const { return {data(), options}; }
  [[nodiscard]] Window right(std::size_t i) const {
    return {gold[4 * i], gold[4 * i + 1], gold[4 * i + 2], gold[4 * i + 3]};
  }

  [[nodiscard]] std::vector<Window> windows(std::size_t i) const {
    std::vector<Window> all;
    for (std::uint32_t label = 0; label < labels; ++label) {
      for (std::uint32_t s = 0; s < options.sizes.size(); ++s) {
        for (std::uint32_t top = 0; top + options.sizes[s].height <= heights[i]; ++top) {
          for (std::uint32_t left = 0; left + options.sizes[s].width <= widths[i]; ++left) {
            all.push_back({label, s, top, left});
          }
        }
      }
    }
    return all;
  }

  // phi of a window, all of it, written down from the definition.
  [[nodiscard]] std::vector<double> features(std::size_t i, const Window& window) const {
    std::vector<double> result;
    for (std::uint32_t label = 0; label < labels; ++label) {
      for (std::uint32_t s = 0; s < options.sizes.size(); ++s) {
        const bool own = label == window.label && s == window.size;
        for (std::size_t k = 0; k < channels; ++k) {
          for (std::uint32_t y = 0; y < options.sizes[s].height; ++y) {
            for (std::uint32_t x = 0; x < options.sizes[s].width; ++x) {
              result.push_back(own ? pixel(i, k, window.top + y, window.left + x) : 0);
            }
          }
        }
        if (options.bias) result.push_back(own ? 1 : 0);
      }
    }
    return result;
  }

  [[nodiscard]] double pixel(std::size_t i, std::size_t k, std::size_t y, std::size_t x) const {
    std::size_t offset = 0;
    for (std::size_t j = 0; j < i; ++j) offset += channels * heights[j] * widths[j];
    return pixels[offset + (k * heights[i] + y) * widths[i] + x];
  }

  [[nodiscard]] double score(std::size_t i, const Window& window, std::span<const double> w) const {
    const auto phi = features(i, window);
    double sum = 0;
    for (std::size_t k = 0; k < phi.size(); ++k) sum += w[k] * phi[k];
    return sum;
  }

  [[nodiscard]] double overlap(const Window& a, const Window& b) const {
    int shared = 0;
    for (std::uint32_t y = 0; y < 32; ++y) {
      for (std::uint32_t x = 0; x < 32; ++x) shared += inside(a, y, x) && inside(b, y, x);
    }
    const double areas = double{1} * options.sizes[a.size].height * options.sizes[a.size].width +
                         double{1} * options.sizes[b.size].height * options.sizes[b.size].width;
    return shared / (areas - shared);
  }
  [[nodiscard]] bool inside(const Window& window, std::uint32_t y, std::uint32_t x) const {
    return y >= window.top && y < window.top + options.sizes[window.size].height && x >= window.left &&
           x < window.left + options.sizes[window.size].width;
  }
};

CandidateBatch candidate_of(const DetectionTask& task, std::size_t i, const Window& window) {
  CandidateBatch batch;
  (void)task.candidate(i, marginloom::encode_window(window), *task.make_scratch(), batch);
  return batch;
}

struct Ranked {
  Window window;
  double value;
};

// All windows, best first, equal ones in their own order.
std::vector<Ranked> ranking(const Detections& problem, const DetectionTask& task, std::size_t i,
                            std::span<const double> w, double loss_scale) {
  std::vector<Ranked> all;
  for (const Window& window : problem.windows(i)) {
    const double loss = loss_scale == 0 ? 0 : candidate_of(task, i, window)[0].loss;
    all.push_back({window, problem.score(i, window, w) + loss_scale * loss});
  }
  std::ranges::stable_sort(all, [](const Ranked& a, const Ranked& b) { return a.value > b.value; });
  return all;
}

}  // namespace

TEST("detection: the most violated windows are those of enumeration, in order") {
  Random random(1);
  for (int round = 0; round < 60; ++round) {
    const Detections problem(random, true);
    const DetectionTask task = problem.task();
    const auto w = problems::random_vector(task.dimension(), random, problems::eighths);
    const auto scratch = task.make_scratch();
    for (std::size_t i = 0; i < task.size(); ++i) {
      const double loss_scale = random.below(3) / 2.0;
      const auto all = ranking(problem, task, i, w, loss_scale);
      const double right = problem.score(i, problem.right(i), w);
      const int k = 1 + static_cast<int>(random.below(4));
      CandidateBatch found;
      const double bound = task.find(i, w, {.k = k, .loss_scale = loss_scale}, *scratch, found);
      CHECK(bound == std::max(all[0].value - right, 0.0));
      std::size_t at = 0;
      for (std::size_t rank = 0; rank < std::min<std::size_t>(static_cast<std::size_t>(k), all.size()); ++rank) {
        if (all[rank].window == problem.right(i)) continue;
        CHECK(at < found.size() && marginloom::decode_window(found[at].output) == all[rank].window);
        ++at;
      }
      CHECK(at == found.size());
    }
  }
}

TEST("detection: every instruction set finds the same windows with the same scores, to the bit") {
  const std::string chosen = marginloom::kernels().name;
  std::vector<double> expected;
  for (const auto name : marginloom::available_kernels()) {
    (void)marginloom::select_kernels(name);
    Random random(2);
    std::vector<double> found;
    for (int round = 0; round < 20; ++round) {
      const Detections problem(random, false);
      const DetectionTask task = problem.task();
      const auto w = problems::random_vector(task.dimension(), random, problems::uniform);
      const auto scratch = task.make_scratch();
      for (std::size_t i = 0; i < task.size(); ++i) {
        std::vector<Output> outputs;
        task.predict(i, w, 3, *scratch, outputs);
        CandidateBatch batch;
        found.push_back(task.find(i, w, {}, *scratch, batch));
        for (const Output& output : outputs) {
          found.push_back(output.score);
          found.insert(found.end(), output.bytes.begin(), output.bytes.end());
        }
      }
    }
    if (expected.empty()) expected = found;
    CHECK(problems::same_bits(found, expected));
  }
  (void)marginloom::select_kernels(chosen);
}

TEST("detection: candidates have the norm and the products of the difference they stand for") {
  Random random(3);
  for (int round = 0; round < 20; ++round) {
    const Detections problem(random, true);
    const DetectionTask task = problem.task();
    auto w = problems::random_vector(task.dimension(), random, problems::eighths);
    for (std::size_t i = 0; i < task.size(); ++i) {
      const auto gold = problem.features(i, problem.right(i));
      for (const Window& window : problem.windows(i)) {
        auto difference = problem.features(i, window);
        double norm = 0, dot = 0;
        for (std::size_t k = 0; k < gold.size(); ++k) {
          difference[k] = gold[k] - difference[k];
          norm += difference[k] * difference[k];
          dot += difference[k] * w[k];
        }
        const auto batch = candidate_of(task, i, window);
        const Candidate candidate = batch[0];
        CHECK(candidate.implicit && candidate.squared_norm == norm);
        CHECK(dot_difference(task, candidate, w) == dot);
        auto moved = w;
        add_difference(task, candidate, 0.5, WeightWriter{moved.data()});
        add_difference(task, candidate, 0.25, WeightWriter{moved.data(), true});
        for (std::size_t k = 0; k < w.size(); ++k) CHECK(moved[k] == w[k] + 0.75 * difference[k]);
      }
    }
  }
}

TEST("detection: several outputs at once give what each of them gives, and the products of their differences") {
  Random random(6);
  for (int round = 0; round < 10; ++round) {
    const Detections problem(random, true);
    const DetectionTask task = problem.task();
    const auto w = problems::random_vector(task.dimension(), random, problems::eighths);
    const auto scratch = task.make_scratch();
    for (std::size_t i = 0; i < task.size(); ++i) {
      const auto all = problem.windows(i);
      std::vector<std::array<std::uint8_t, marginloom::window_bytes>> bytes;
      for (int j = 0; j < 5; ++j) bytes.push_back(marginloom::encode_window(all[random.below(all.size())]));
      const std::vector<marginloom::ByteView> outputs(bytes.begin(), bytes.end());
      std::vector<double> dots(outputs.size()), products(outputs.size());
      const std::vector<double> steps{0.5, 0, 1, -0.25, 2};
      task.gather(i, outputs, w, dots);
      auto together = w, apart = w, shared = w;
      task.scatter(i, outputs, steps, WeightWriter{together.data()});
      task.scatter(i, outputs, steps, WeightWriter{shared.data(), true});
      for (std::size_t j = 0; j < outputs.size(); ++j) {
        const auto one = std::span(outputs).subspan(j, 1);
        double dot = 0;
        task.gather(i, one, w, std::span(&dot, 1));
        CHECK(dots[j] == dot);
        task.scatter(i, one, std::span(steps).subspan(j, 1), WeightWriter{apart.data()});
        std::vector<double> difference(w.size());
        task.scatter(i, one, std::vector<double>{1}, WeightWriter{difference.data()});
        task.products(i, outputs[j], outputs, *scratch, products);
        std::vector<double> expected(outputs.size());
        task.gather(i, outputs, difference, expected);
        CHECK(products == expected);
      }
      CHECK(together == apart && shared == apart);
    }
  }
}

TEST("detection: predictions beyond the first leave out what overlaps a better one of the same label") {
  Random random(4);
  for (int round = 0; round < 40; ++round) {
    Detections problem(random, true);
    problem.options.overlap = random.below(4) / 4.0;
    const DetectionTask task = problem.task();
    const auto w = problems::random_vector(task.dimension(), random, problems::eighths);
    const auto scratch = task.make_scratch();
    for (std::size_t i = 0; i < task.size(); ++i) {
      std::vector<Ranked> kept;
      for (const Ranked& next : ranking(problem, task, i, w, 0)) {
        const bool clashes = std::ranges::any_of(kept, [&](const Ranked& better) {
          return better.window.label == next.window.label &&
                 problem.overlap(better.window, next.window) > problem.options.overlap;
        });
        if (!clashes && kept.size() < 5) kept.push_back(next);
      }
      std::vector<Output> outputs;
      task.predict(i, w, 5, *scratch, outputs);
      CHECK(outputs.size() == kept.size());
      for (std::size_t k = 0; k < kept.size(); ++k) {
        CHECK(marginloom::decode_window(outputs[k].bytes) == kept[k].window);
        CHECK(outputs[k].score == kept[k].value && outputs[k].upper_bound == kept[0].value);
      }
    }
  }
}

TEST("detection: bytes that are no window of the image, and broken data, are refused") {
  Random random(5);
  Detections problem(random, true);
  const DetectionTask task = problem.task();
  CHECK_THROWS(std::invalid_argument, candidate_of(task, 0, {99, 0, 0, 0}), "not one of its windows");
  CHECK_THROWS(std::invalid_argument, candidate_of(task, 0, {0, 99, 0, 0}), "not one of its windows");
  CHECK_THROWS(std::invalid_argument, candidate_of(task, 0, {0, 0, 99, 0}), "not one of its windows");
  const std::array<std::uint8_t, 3> cut{};
  CandidateBatch batch;
  CHECK_THROWS(std::invalid_argument, (task.candidate(0, cut, *task.make_scratch(), batch), 0), "wrong length");
  problem.heights[0] += 1;
  CHECK_THROWS(std::invalid_argument, problem.task(), "pixels");
  problem.heights[0] -= 1;
  problem.gold[2] = 99;
  CHECK_THROWS(std::invalid_argument, problem.task(), "gold window of image 0");
  problem.gold[2] = 0;
  problem.pixels[0] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS(std::invalid_argument, problem.task(), "NaN");
}

TEST("detection: scores beyond single precision are an error, not a wrong window") {
  Random random(7);
  const Detections problem(random, false);
  const DetectionTask task = problem.task();
  const std::vector<double> w(task.dimension(), 1e38);
  const auto scratch = task.make_scratch();
  std::vector<Output> outputs;
  CHECK_THROWS(std::overflow_error, (task.predict(0, w, 1, *scratch, outputs), 0), "single precision");
}
