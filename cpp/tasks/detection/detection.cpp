#include "tasks/detection/detection.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/common.hpp"
#include "core/interruption.hpp"
#include "tasks/detection/detection_buffers.hpp"

namespace marginloom {
namespace {

constexpr std::size_t most = 65535;                    // outputs are encoded in 16 bits each
constexpr std::size_t immense = std::size_t{1} << 47;  // weights of a label, so that those of all can still be counted

// Eight partial sums whatever the compiler makes of them, so that every machine adds in the same order.
template <class First>
double window_dot(const First* a, std::size_t a_stride, const float* b, std::size_t b_stride, const Area& part) {
  const std::size_t height = part.bottom - part.top;
  const std::size_t width = part.right - part.left;
  constexpr std::size_t parts = 8;
  double sums[parts] = {};
  for (std::size_t y = 0; y < height; ++y, a += a_stride, b += b_stride) {
    std::size_t x = 0;
    for (; x + parts <= width; x += parts) {
      for (std::size_t p = 0; p < parts; ++p) sums[p] += double{a[x + p]} * double{b[x + p]};
    }
    for (std::size_t p = 0; x + p < width; ++p) sums[p] += double{a[x + p]} * double{b[x + p]};
  }
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

}  // namespace

DetectionTask::DetectionTask(const DetectionData& data, DetectionOptions options)
    : data_(data), options_(std::move(options)) {
  lay_out_weights();
  check();
  measure_images();
  for (const double loss : options_.losses) greatest_loss_ = std::max(greatest_loss_, loss);
}

void DetectionTask::lay_out_weights() {
  require(data_.label_count >= 1 && data_.label_count <= most, "a detection task needs 1 to 65,535 labels");
  require(data_.channels >= 1, "images need a channel at least");
  require(!options_.sizes.empty() && options_.sizes.size() <= most, "a detection task needs 1 to 65,535 window sizes");
  for (const auto& [height, width] : options_.sizes) {
    require(height >= 1 && width >= 1 && height <= most && width <= most,
            "windows must have 1 to 65,535 rows and columns");
    const std::size_t cells = std::size_t{height} * width;
    require(data_.channels < immense / cells && label_weights_ < immense,
            "labels times window pixels make more than the 4,294,967,295 weights that are possible");
    size_offsets_.push_back(label_weights_);
    label_weights_ += cells * data_.channels + (options_.bias ? 1 : 0);
    reach_y_ = std::max(reach_y_, height);
    reach_x_ = std::max(reach_x_, width);
  }
}

WindowWeight DetectionTask::describe(std::size_t weight) const {
  WindowWeight result{.label = weight / label_weights_};
  const std::size_t within = weight % label_weights_;
  const auto next = std::ranges::upper_bound(size_offsets_, within);
  result.size = static_cast<std::size_t>(next - size_offsets_.begin()) - 1;
  const std::size_t place = within - size_offsets_[result.size];
  result.constant = place >= pixel_weights(result.size);
  if (result.constant) return result;
  const auto [height, width] = options_.sizes[result.size];
  result.channel = place / (std::size_t{height} * width);
  result.row = place / width % height;
  result.column = place % width;
  return result;
}

void DetectionTask::check() const {
  require(dimension() <= std::numeric_limits<WeightIndex>::max(),
          "labels times window pixels make " + std::to_string(dimension()) +
              " weights, more than the 4,294,967,295 that are possible");
  require(data_.heights.size() == data_.widths.size(), "there must be a height and a width for every image");
  std::size_t floats = column_alignment;
  for (std::size_t i = 0; i < size(); ++i) {
    require(data_.heights[i] <= most && data_.widths[i] <= most, "images must not exceed 65,535 rows or columns");
    floats += std::size_t{data_.heights[i]} * data_.widths[i] * data_.channels;
  }
  require(data_.pixels.size() == floats, "the number of pixels does not match the sizes of the images");
  require(std::ranges::all_of(data_.pixels, [](float v) { return std::isfinite(v); }), "a pixel is NaN or infinite");
  for (std::size_t i = 0; i < size(); ++i) {
    bool fitting = false;
    for (std::size_t s = 0; s < options_.sizes.size(); ++s) fitting |= fits(i, s);
    require(fitting, "image " + std::to_string(i) + " is smaller than every window");
  }
  require(options_.overlap >= 0, "the overlap must not be negative");
  require(data_.gold.empty() || data_.gold.size() == 4 * size(), "there must be one gold window per image");
  require(data_.gold.empty() == options_.losses.empty(), "losses are needed where there is gold, and only there");
  if (!data_.gold.empty()) check_gold();
}

void DetectionTask::check_gold() const {
  const std::size_t labels = data_.label_count;
  const std::size_t table = options_.sizes.size() * options_.sizes.size() * (2 * reach_y_ + 1) * (2 * reach_x_ + 1);
  require(options_.losses.size() % table == 0, "the losses do not match the window sizes");
  require(options_.loss_tables.size() == labels * labels, "there must be a loss table for every pair of labels");
  for (const std::uint32_t number : options_.loss_tables) {
    require(number < options_.losses.size() / table, "a loss table is beyond their number");
  }
  for (const double loss : options_.losses)
    require(loss >= 0 && std::isfinite(loss), "a loss is negative or not finite");
  for (std::size_t i = 0; i < size(); ++i) {
    const Window right = gold(i);
    require(right.label < labels && right.size < options_.sizes.size() && fits(i, right.size) &&
                right.top <= data_.heights[i] - options_.sizes[right.size].height &&
                right.left <= data_.widths[i] - options_.sizes[right.size].width,
            "the gold window of image " + std::to_string(i) + " is not one of its windows");
    require(loss(right, right) == 0, "the loss of the gold window itself must be 0");
  }
}

void DetectionTask::measure_images() {
  std::size_t offset = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    offsets_.push_back(offset);
    Area content{data_.heights[i], 0, data_.widths[i], 0};
    double sum = 0;
    for (std::size_t k = 0; k < data_.channels; ++k) {
      for (std::uint32_t y = 0; y < data_.heights[i]; ++y) {
        for (std::uint32_t x = 0; x < data_.widths[i]; ++x, ++offset) {
          const double pixel = data_.pixels[offset];
          if (pixel == 0) continue;
          sum += pixel * pixel;
          content = {std::min(content.top, y), std::max(content.bottom, y + 1), std::min(content.left, x),
                     std::max(content.right, x + 1)};
        }
      }
    }
    norms_.push_back(std::sqrt(sum));
    contents_.push_back(content);
  }
}

Capabilities DetectionTask::capabilities() const {
  return {.gold = !data_.gold.empty(), .k_best = true};
}

std::unique_ptr<Scratch> DetectionTask::make_scratch() const {
  auto buffers = std::make_unique<Buffers>();
  for (const auto& [height, width] : options_.sizes) {
    buffers->correlations.emplace_back(Correlation::Shape{data_.label_count, data_.channels, height, width});
  }
  const std::size_t sizes = options_.sizes.size();
  buffers->planes.resize(sizes);
  buffers->present.resize(sizes);
  buffers->biases.resize(sizes * data_.label_count);
  buffers->zero.resize(sizes * data_.label_count);
  buffers->errors.resize(sizes * data_.label_count);
  return buffers;
}

ImageView DetectionTask::image(std::size_t i) const {
  return {data_.pixels.data() + offsets_[i], data_.heights[i], data_.widths[i], data_.channels, norms_[i]};
}

Window DetectionTask::gold(std::size_t i) const {
  return {data_.gold[4 * i], data_.gold[4 * i + 1], data_.gold[4 * i + 2], data_.gold[4 * i + 3]};
}

bool DetectionTask::fits(std::size_t i, std::size_t size) const {
  return options_.sizes[size].height <= data_.heights[i] && options_.sizes[size].width <= data_.widths[i];
}

std::size_t DetectionTask::block(const Window& window) const {
  return window.label * label_weights_ + size_offsets_[window.size];
}

std::size_t DetectionTask::pixel_weights(std::size_t size) const {
  return std::size_t{options_.sizes[size].height} * options_.sizes[size].width * data_.channels;
}

const float* DetectionTask::corner(std::size_t i, const Window& window) const {
  return data_.pixels.data() + offsets_[i] + std::size_t{window.top} * data_.widths[i] + window.left;
}

Area DetectionTask::content(std::size_t i, const Window& window) const {
  return covered(window, options_.sizes[window.size], contents_[i]);
}

// The losses of the windows of a row, by displacement of left from -reach on.
const double* DetectionTask::loss_row(const Window& right, const Window& window) const {
  const std::size_t table = options_.loss_tables[right.label * data_.label_count + window.label];
  const std::size_t pair = (table * options_.sizes.size() + right.size) * options_.sizes.size() + window.size;
  const auto reach = static_cast<std::int64_t>(reach_y_);
  const std::int64_t displacement = std::clamp(std::int64_t{window.top} - right.top, -reach, reach);
  const std::size_t row = pair * (2 * reach_y_ + 1) + static_cast<std::size_t>(displacement + reach);
  return options_.losses.data() + row * (2 * reach_x_ + 1);
}

double DetectionTask::loss(const Window& right, const Window& window) const {
  const auto reach = static_cast<std::int64_t>(reach_x_);
  const std::int64_t displacement = std::clamp(std::int64_t{window.left} - right.left, -reach, reach);
  return loss_row(right, window)[displacement + reach];
}

// Intersection over union.
double DetectionTask::overlap(const Window& a, const Window& b) const {
  const auto shared = [](std::int64_t begin, std::int64_t length, std::int64_t other, std::int64_t other_length) {
    return std::max<std::int64_t>(std::min(begin + length, other + other_length) - std::max(begin, other), 0);
  };
  const WindowSize& first = options_.sizes[a.size];
  const WindowSize& second = options_.sizes[b.size];
  const double intersection = static_cast<double>(shared(a.top, first.height, b.top, second.height) *
                                                  shared(a.left, first.width, b.left, second.width));
  return intersection /
         (double{1} * first.height * first.width + double{1} * second.height * second.width - intersection);
}

double DetectionTask::window_score(std::size_t i, const Window& window, const double* weights) const {
  const auto [height, width] = options_.sizes[window.size];
  const Area part = content(i, window);
  if (part.empty()) return 0;
  count_steps(data_.channels * height * width);
  const std::size_t stride = data_.widths[i];
  double sum = 0;
  for (std::size_t k = 0; k < data_.channels; ++k) {
    sum += window_dot(weights + (k * height + part.top) * width + part.left, width,
                      corner(i, window) + (k * data_.heights[i] + part.top) * stride + part.left, stride, part);
  }
  return sum;
}

void DetectionTask::add_rows(std::size_t i, const Window& window, double step, double* weights) const {
  const auto [height, width] = options_.sizes[window.size];
  const Area part = content(i, window);
  const std::size_t stride = data_.widths[i];
  for (std::size_t k = 0; k < data_.channels; ++k) {
    for (std::size_t y = part.top; y < part.bottom; ++y) {
      const float* row = corner(i, window) + (k * data_.heights[i] + y) * stride;
      double* target = weights + (k * height + y) * width;
      for (std::size_t x = part.left; x < part.right; ++x) target[x] += step * row[x];
    }
  }
  if (options_.bias) weights[pixel_weights(window.size)] += step;
}

// phi.phi of two windows of an image.
double DetectionTask::product(std::size_t i, const Window& a, const Window& b) const {
  if (a.label != b.label || a.size != b.size) return 0;
  const Area part = intersection(content(i, a), content(i, b));
  const std::size_t stride = data_.widths[i];
  double sum = options_.bias ? 1 : 0;
  if (part.empty()) return sum;
  for (std::size_t k = 0; k < data_.channels; ++k) {
    const std::size_t start = (k * data_.heights[i] + part.top) * stride + part.left;
    sum += window_dot(corner(i, a) + start, stride, corner(i, b) + start, stride, part);
  }
  return sum;
}

// (g - a).(g - b) = g.g - (g.a + g.b) + a.b, whichever of the two is the first, to the last bit
void DetectionTask::products(std::size_t i, ByteView output, std::span<const ByteView> others, Scratch&,
                             std::span<double> result) const {
  const Window right = gold(i);
  const Window first = decode_window(output);
  const double own = product(i, right, right);
  const double with_first = product(i, right, first);
  for (std::size_t j = 0; j < others.size(); ++j) {
    const Window second = decode_window(others[j]);
    result[j] = std::ranges::equal(output, others[j])
                    ? squared_norm(i, first)
                    : own - (with_first + product(i, right, second)) + product(i, first, second);
  }
}

double DetectionTask::dot_window(std::size_t i, const Window& window, WeightView w) const {
  const double* weights = w.data() + block(window);
  return window_score(i, window, weights) + (options_.bias ? weights[pixel_weights(window.size)] : 0);
}

// Plain weights lie in contiguous rows, which allow wider registers than single additions.
void DetectionTask::add_window(std::size_t i, const Window& window, double step, const WeightWriter& w) const {
  if (w.plain()) return add_rows(i, window, step, w.plain() + block(window));
  visit_window(i, window, [&](WeightIndex k, double value) { w.add(k, step * value); });
}

void DetectionTask::gather(std::size_t i, std::span<const ByteView> outputs, WeightView w,
                           std::span<double> values) const {
  const double right = dot_window(i, gold(i), w);
  for (std::size_t j = 0; j < outputs.size(); ++j) values[j] = right - dot_window(i, decode_window(outputs[j]), w);
}

void DetectionTask::scatter(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
                            const WeightWriter& w) const {
  double sum = 0;
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    sum += steps[j];
    if (steps[j] != 0) add_window(i, decode_window(outputs[j]), -steps[j], w);
  }
  if (sum != 0) add_window(i, gold(i), sum, w);
}

double DetectionTask::squared_norm(std::size_t i, const Window& window) const {
  const Window right = gold(i);
  const bool same_block = right.label == window.label && right.size == window.size;
  double sum = 0;
  if (same_block) {
    const auto [height, width] = options_.sizes[window.size];
    const std::size_t stride = data_.widths[i];
    for (std::size_t k = 0; k < data_.channels; ++k) {
      const float* a = corner(i, right) + k * stride * data_.heights[i];
      const float* b = corner(i, window) + k * stride * data_.heights[i];
      for (std::size_t y = 0; y < height; ++y, a += stride, b += stride) {
        for (std::size_t x = 0; x < width; ++x) sum += (double{a[x]} - b[x]) * (double{a[x]} - b[x]);
      }
    }
    return sum;
  }
  const auto add_square = [&](WeightIndex, double value) { sum += value * value; };
  visit_window(i, right, add_square);
  visit_window(i, window, add_square);
  return sum;
}

void DetectionTask::emit(std::size_t i, const Window& window, CandidateSink& sink) const {
  const auto bytes = encode_window(window);
  Candidate result;
  result.example = i;
  result.loss = loss(gold(i), window);
  result.squared_norm = squared_norm(i, window);
  result.output = bytes;
  result.key = output_key(bytes);
  result.implicit = true;
  sink.accept(result);
}

bool DetectionTask::candidate(std::size_t i, ByteView output, Scratch&, CandidateSink& sink) const {
  const std::string where = "an output of image " + std::to_string(i);
  require(output.size() == window_bytes, where + " has the wrong length");
  const Window window = decode_window(output);
  require(window.label < data_.label_count && window.size < options_.sizes.size() && fits(i, window.size) &&
              window.top + options_.sizes[window.size].height <= data_.heights[i] &&
              window.left + options_.sizes[window.size].width <= data_.widths[i],
          where + " is not one of its windows");
  emit(i, window, sink);
  return true;
}

}  // namespace marginloom
