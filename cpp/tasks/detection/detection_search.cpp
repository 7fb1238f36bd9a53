// Inference of the detection task: scores of all windows, and the best of them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/interruption.hpp"
#include "tasks/detection/detection_buffers.hpp"

namespace marginloom {
namespace {

// Adding bias and loss, rounded themselves, to a score in single precision.
constexpr double four_roundings = 2 * std::numeric_limits<float>::epsilon();
constexpr double too_large = 1e36;  // some powers of 10 below what single precision holds

}  // namespace

// Fills the planes with scores, without the loss.
void DetectionTask::score_windows(std::size_t i, WeightView w, Buffers& buffers) const {
  const ImageView view = image(i);
  buffers.spectrum.start(view);
  buffers.most_rows = 0;
  for (std::size_t s = 0; s < options_.sizes.size(); ++s) {
    buffers.present[s] = fits(i, s);
    Correlation& correlation = buffers.correlations[s];
    correlation.set_templates(w.data() + size_offsets_[s], label_weights_);
    if (!buffers.present[s]) continue;
    buffers.planes[s] = correlation.correlate(view, buffers.spectrum);
    buffers.most_rows = std::max(buffers.most_rows, buffers.planes[s].rows);
    for (std::size_t label = 0; label < data_.label_count; ++label) {
      const std::size_t place = buffers.place(label, s);
      const double bias = options_.bias ? w[label * label_weights_ + size_offsets_[s] + pixel_weights(s)] : 0;
      buffers.biases[place] = bias;
      const double largest = correlation.norm(label) * view.norm + std::abs(bias);  // that a score can be
      if (!(largest < too_large)) {
        throw std::overflow_error("scores of windows exceed single precision; divide the pixels by their scale");
      }
      buffers.zero[place] = correlation.norm(label) == 0;
      buffers.errors[place] = buffers.planes[s].errors[label] + four_roundings * largest;
    }
    clear_blanks(i, s, buffers);
  }
  buffers.row_maxima.assign(data_.label_count * options_.sizes.size() * buffers.most_rows, Buffers::never);
}

// Gives windows that lie where the image is 0 their score, exactly, and adds the bias to the others.
void DetectionTask::clear_blanks(std::size_t i, std::size_t size, Buffers& buffers) const {
  const ScorePlanes& planes = buffers.planes[size];
  const auto [height, width] = options_.sizes[size];
  const Area& content = contents_[i];
  const auto first = [](std::size_t edge, std::size_t length) { return edge >= length ? edge - length + 1 : 0; };
  const std::size_t top = std::min<std::size_t>(first(content.top, height), planes.rows);
  const std::size_t bottom = std::min<std::size_t>(content.bottom, planes.rows);
  const std::size_t left = std::min<std::size_t>(first(content.left, width), planes.columns);
  const std::size_t right = std::max(left, std::min<std::size_t>(content.right, planes.columns));
  for (std::size_t label = 0; label < data_.label_count; ++label) {
    const auto bias = static_cast<float>(buffers.biases[buffers.place(label, size)]);
    const bool zero = buffers.zero[buffers.place(label, size)];
    for (std::size_t y = 0; y < planes.rows; ++y) {
      float* row = planes.scores + label * planes.plane + y * planes.stride;
      if (zero || y < top || y >= bottom) {
        std::fill_n(row, planes.columns, bias);
        continue;
      }
      std::fill_n(row, left, bias);
      for (std::size_t x = left; options_.bias && x < right; ++x) row[x] += bias;
      std::fill(row + right, row + planes.columns, bias);
    }
  }
}

void DetectionTask::add_losses(std::size_t i, double scale, Buffers& buffers) const {
  if (scale == 0) return;
  const Window right = gold(i);
  const auto reach = static_cast<std::int64_t>(reach_x_);
  for (std::size_t s = 0; s < options_.sizes.size(); ++s) {
    if (!buffers.present[s]) continue;
    const ScorePlanes& planes = buffers.planes[s];
    // Columns begin .. end - 1 are displaced by less than `reach`.
    const auto columns = static_cast<std::int64_t>(planes.columns);
    const std::int64_t begin = std::clamp<std::int64_t>(right.left - reach, 0, columns);
    const std::int64_t end = std::clamp<std::int64_t>(right.left + reach, 0, columns);
    for (std::uint32_t label = 0; label < data_.label_count; ++label) {
      for (std::uint32_t y = 0; y < planes.rows; ++y) {
        const double* losses = loss_row(right, {label, static_cast<std::uint32_t>(s), y, 0});
        float* row = planes.scores + label * planes.plane + y * planes.stride;
        const auto before = static_cast<float>(scale * losses[0]);
        const auto after = static_cast<float>(scale * losses[2 * reach]);
        const double* near = losses + reach - right.left;
        for (std::int64_t x = 0; x < begin; ++x) row[x] += before;
        for (std::int64_t x = begin; x < end; ++x) row[x] += static_cast<float>(scale * near[x]);
        for (std::int64_t x = end; x < columns; ++x) row[x] += after;
      }
      buffers.errors[buffers.place(label, s)] += four_roundings * scale * greatest_loss_;
    }
  }
}

void DetectionTask::find_maxima(Buffers& buffers) const {
  for (std::size_t s = 0; s < options_.sizes.size(); ++s) {
    if (!buffers.present[s]) continue;
    for (std::size_t label = 0; label < data_.label_count; ++label) {
      count_steps(buffers.planes[s].rows * buffers.planes[s].columns);
      for (std::size_t y = 0; y < buffers.planes[s].rows; ++y) buffers.update_maximum(label, s, y);
    }
  }
}

// In double precision: w.phi + loss_scale * loss.
double DetectionTask::exact_value(std::size_t i, const Window& window, double loss_scale,
                                  const Buffers& buffers) const {
  const std::size_t place = buffers.place(window.label, window.size);
  double value = buffers.biases[place];
  if (!buffers.zero[place]) {
    value += window_score(i, window, buffers.correlations[window.size].weights(window.label));
  }
  return loss_scale == 0 ? value : value + loss_scale * loss(gold(i), window);
}

// The best window that is left, and its value; false if none is left. The first guess is the best one in single
// precision; only windows that reach it when their error is granted to them can be better.
bool DetectionTask::next_best(std::size_t i, double loss_scale, const Buffers& buffers, Window& best,
                              double& value) const {
  const auto most = std::ranges::max_element(buffers.row_maxima);
  if (most == buffers.row_maxima.end() || *most == Buffers::never) return false;
  const Window guess = buffers.first_in_row(static_cast<std::size_t>(most - buffers.row_maxima.begin()), *most);
  const double least = exact_value(i, guess, loss_scale, buffers);
  value = -std::numeric_limits<double>::infinity();
  for (std::size_t number = 0; number < buffers.row_maxima.size(); ++number) {
    const std::size_t place = number / buffers.most_rows;
    const double error = buffers.errors[place];
    if (!(buffers.row_maxima[number] + error >= std::max(least, value))) continue;
    Window window = buffers.row_start(number);
    const ScorePlanes& planes = buffers.planes[window.size];
    const float* row = planes.scores + window.label * planes.plane + window.top * planes.stride;
    for (; window.left < planes.columns; ++window.left) {
      if (!(row[window.left] + error >= std::max(least, value))) continue;
      const double exact = exact_value(i, window, loss_scale, buffers);
      if (exact <= value) continue;
      value = exact;
      best = window;
    }
  }
  return true;
}

// Removes the windows of the same label that overlap this one by more than `allowed`, and this one.
void DetectionTask::suppress(const Window& window, double allowed, Buffers& buffers) const {
  for (std::uint32_t s = 0; s < options_.sizes.size(); ++s) {
    if (!buffers.present[s] || (allowed >= 1 && s != window.size)) continue;
    const ScorePlanes& planes = buffers.planes[s];
    const auto begin = [](std::size_t start, std::size_t reach) { return start > reach ? start - reach : 0; };
    const std::size_t far_y = allowed >= 1 ? 0 : reach_y_;
    const std::size_t far_x = allowed >= 1 ? 0 : reach_x_;
    for (std::size_t y = begin(window.top, far_y); y < std::min(window.top + far_y + 1, planes.rows); ++y) {
      float* row = planes.scores + window.label * planes.plane + y * planes.stride;
      for (std::size_t x = begin(window.left, far_x); x < std::min(window.left + far_x + 1, planes.columns); ++x) {
        const Window other{window.label, s, static_cast<std::uint32_t>(y), static_cast<std::uint32_t>(x)};
        if (other == window || overlap(window, other) > allowed) row[x] = Buffers::never;
      }
      buffers.update_maximum(window.label, s, y);
    }
  }
}

void DetectionTask::predict(std::size_t i, WeightView w, int k, Scratch& scratch, std::vector<Output>& outputs) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  outputs.clear();
  score_windows(i, w, buffers);
  find_maxima(buffers);
  Window best;
  double value = 0;
  while (outputs.size() < static_cast<std::size_t>(k) && next_best(i, 0, buffers, best, value)) {
    Output& output = outputs.emplace_back();
    const auto bytes = encode_window(best);
    output.bytes.assign(bytes.begin(), bytes.end());
    output.score = value;
    output.upper_bound = outputs.front().score;
    if (k > 1) suppress(best, options_.overlap, buffers);
  }
}

double DetectionTask::find(std::size_t i, WeightView w, const FindOptions& options, Scratch& scratch,
                           CandidateSink& sink) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  score_windows(i, w, buffers);
  add_losses(i, options.loss_scale, buffers);
  find_maxima(buffers);
  const Window right = gold(i);
  const double right_score = exact_value(i, right, 0, buffers);
  double largest = 0;
  Window best;
  double value = 0;
  for (int rank = 0; rank < options.k && next_best(i, options.loss_scale, buffers, best, value); ++rank) {
    const double violation = value - right_score;
    largest = std::max(largest, violation);
    if (!(violation >= options.min_violation)) break;
    if (best != right) emit(i, best, sink);
    if (options.k > 1) suppress(best, 1, buffers);
  }
  return largest;
}

}  // namespace marginloom
