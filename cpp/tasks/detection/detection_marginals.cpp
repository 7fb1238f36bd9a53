// Probabilities of windows: p(window) is proportional to exp(scale times its score).
//
// Scores in single precision say which windows matter. Those within `reach` of the best one, at the temperature at
// hand, are scored again in double precision; all others together have a probability below what a double can tell from
// 0 beside 1.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "core/log_sum.hpp"
#include "tasks/detection/detection_buffers.hpp"

namespace marginloom {
namespace {

constexpr double reach = 70;  // exp(-70) is 4e-31

}  // namespace

std::size_t DetectionTask::windows_of_label(std::size_t i) const {
  std::size_t sum = 0;
  for (std::size_t s = 0; s < options_.sizes.size(); ++s) {
    const auto [height, width] = options_.sizes[s];
    if (fits(i, s)) sum += (data_.heights[i] - height + std::size_t{1}) * (data_.widths[i] - width + std::size_t{1});
  }
  return sum;
}

Window DetectionTask::window_of(std::size_t i, std::size_t choice) const {
  const std::size_t of_label = windows_of_label(i);
  Window window{static_cast<std::uint32_t>(choice / of_label), 0, 0, 0};
  std::size_t rest = choice % of_label;
  for (std::uint32_t s = 0;; ++s) {
    if (!fits(i, s)) continue;
    const auto [height, width] = options_.sizes[s];
    const std::size_t columns = data_.widths[i] - width + std::size_t{1};
    const std::size_t windows = (data_.heights[i] - height + std::size_t{1}) * columns;
    if (rest < windows) {
      window.size = s;
      window.top = static_cast<std::uint32_t>(rest / columns);
      window.left = static_cast<std::uint32_t>(rest % columns);
      return window;
    }
    rest -= windows;
  }
}

void DetectionTask::score_choices(std::size_t i, WeightView w, Scratch& scratch) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  if (choice_count(i) >= no_choice) {
    throw std::invalid_argument("image " + std::to_string(i) + " has too many windows for probabilities");
  }
  score_windows(i, w, buffers);
  buffers.values.clear();
  for (std::size_t label = 0; label < data_.label_count; ++label) {
    for (std::size_t s = 0; s < options_.sizes.size(); ++s) {
      if (!buffers.present[s]) continue;
      const ScorePlanes& planes = buffers.planes[s];
      for (std::size_t y = 0; y < planes.rows; ++y) {
        const float* const row = planes.scores + label * planes.plane + y * planes.stride;
        buffers.values.insert(buffers.values.end(), row, row + planes.columns);
      }
    }
  }
  buffers.exact.assign(buffers.values.size(), false);
}

void DetectionTask::marginals(std::size_t i, const Tempering& tempering, const MarginalQuery& query,
                              Scratch& scratch) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  const auto value = [&](std::size_t choice) {
    if (!buffers.exact[choice]) {
      buffers.values[choice] = exact_value(i, window_of(i, choice), 0, buffers);
      buffers.exact[choice] = true;
    }
    return buffers.values[choice];
  };
  const double error = 2 * *std::ranges::max_element(buffers.errors);
  const double least = *std::ranges::max_element(buffers.values) - reach / tempering.scale - error;
  for (std::size_t choice = 0; choice < buffers.values.size(); ++choice) {
    if (buffers.values[choice] >= least) (void)value(choice);
  }
  const double best = *std::ranges::max_element(buffers.values);
  const auto relative = [&](std::size_t choice) { return tempering.scale * (buffers.values[choice] - best); };
  const double sum = log_sum_of(buffers.values.size(), relative);
  for (std::size_t k = 0; k < query.table.size(); ++k) query.table[k] = std::exp(relative(k) - sum);
  normalise(query.table);
  for (std::size_t j = 0; j < query.outputs.size(); ++j) {
    query.parts[j] = std::numeric_limits<double>::quiet_NaN();
    if (query.outputs[j] != no_choice) {
      query.parts[j] = std::min(tempering.scale * (value(query.outputs[j]) - best) - sum, 0.0);
    }
    if (!query.wholes.empty()) query.wholes[j] = query.parts[j];
  }
}

}  // namespace marginloom
