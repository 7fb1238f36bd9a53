// Object detection: an image's output is one window, of one of a few sizes, at any position, and its label.
//
//   phi(x, label, size, top, left)  the window's pixels (all channels), in the block of that label and size
//   loss(gold, y)                   from a table: of both labels, both sizes and the displacement of the windows
//
// Weights lie by label, then size, then channel, row and column of the window; with `bias` a block ends with the weight
// of a constant feature of 1.
//
// Inference scores every window: one correlation per label and size (correlation.hpp), in single precision. A bound of
// the error says which windows can be the best one, and those few are scored again in double precision, so the result
// is exact. Windows that lie where the image is 0 score 0 and are never computed. Of equal windows the one with the
// lowest label, size, top and left (in this order) wins. Candidates keep no copy of their window.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "core/marginals.hpp"
#include "core/task.hpp"
#include "tasks/detection/correlation.hpp"
#include "tasks/detection/window.hpp"

namespace marginloom {

// The memory belongs to the caller and must outlive the task.
struct DetectionData {
  std::span<const float> pixels;           // image by image, channel by channel, and column_alignment more at the end
  std::span<const std::uint32_t> heights;  // of the images
  std::span<const std::uint32_t> widths;
  std::span<const std::uint32_t> gold;  // label, size, top and left of every image, or empty
  std::size_t channels = 1;
  std::size_t label_count = 0;
};

struct DetectionOptions {
  std::vector<WindowSize> sizes;
  bool bias = false;
  // The loss of a label where another is right is loss_tables[gold label * labels + label], the number of a table in
  // `losses`: [gold size][size][displacement of top][displacement of left], displacements from -reach to reach, where
  // reach is the greatest height (width) of all sizes. Farther windows have the loss of those at reach.
  std::vector<std::uint32_t> loss_tables;
  std::vector<double> losses;
  // Of several predictions, none of the same label overlaps a better one with an intersection over union above this.
  double overlap = 1;
};

// What a weight belongs to: a cell of the windows of a label and size, or their constant feature.
struct WindowWeight {
  std::size_t label = 0;
  std::size_t size = 0;
  bool constant = false;
  std::size_t channel = 0;
  std::size_t row = 0;
  std::size_t column = 0;
};

class DetectionTask final : public Task, public ImplicitDifferences, public Marginals {
 public:
  // Throws std::invalid_argument if the data contradict themselves.
  DetectionTask(const DetectionData& data, DetectionOptions options);

  std::size_t size() const override { return data_.heights.size(); }
  std::size_t dimension() const override { return data_.label_count * label_weights_; }
  Capabilities capabilities() const override;
  std::unique_ptr<Scratch> make_scratch() const override;
  void predict(std::size_t i, WeightView w, int k, Scratch& scratch, std::vector<Output>& outputs) const override;
  double find(std::size_t i, WeightView w, const FindOptions& options, Scratch& scratch,
              CandidateSink& sink) const override;
  bool candidate(std::size_t i, ByteView output, Scratch& scratch, CandidateSink& sink) const override;
  double work(std::size_t i) const override { return double{1} * data_.heights[i] * data_.widths[i]; }

  [[nodiscard]] WindowWeight describe(std::size_t weight) const;  // requires that there is such a weight

  // The only part is the image, and its choices are its windows: by label, size, top and left, of the sizes that fit.
  std::size_t part_count(std::size_t) const override { return 1; }
  std::size_t choice_count(std::size_t i) const override { return data_.label_count * windows_of_label(i); }
  void score_choices(std::size_t i, WeightView w, Scratch& scratch) const override;
  void marginals(std::size_t i, const Tempering& tempering, const MarginalQuery& query,
                 Scratch& scratch) const override;

  // Several outputs share the gold window.
  void gather(std::size_t i, std::span<const ByteView> outputs, WeightView w, std::span<double> values) const override;
  void scatter(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
               const WeightWriter& w) const override;
  void products(std::size_t i, ByteView output, std::span<const ByteView> others, Scratch& scratch,
                std::span<double> result) const override;

 private:
  struct Buffers;

  [[nodiscard]] ImageView image(std::size_t i) const;
  [[nodiscard]] Window gold(std::size_t i) const;
  [[nodiscard]] bool fits(std::size_t i, std::size_t size) const;
  [[nodiscard]] std::size_t windows_of_label(std::size_t i) const;
  [[nodiscard]] Window window_of(std::size_t i, std::size_t choice) const;
  [[nodiscard]] std::size_t block(const Window& window) const;  // its first weight
  [[nodiscard]] std::size_t pixel_weights(std::size_t size) const;
  [[nodiscard]] const float* corner(std::size_t i, const Window& window) const;
  [[nodiscard]] Area content(std::size_t i, const Window& window) const;  // counted from the window's corner
  [[nodiscard]] double loss(const Window& right, const Window& window) const;
  [[nodiscard]] const double* loss_row(const Window& right, const Window& window) const;
  [[nodiscard]] double overlap(const Window& a, const Window& b) const;
  // w.phi of a window without its constant feature; `weights` are those of its block.
  [[nodiscard]] double window_score(std::size_t i, const Window& window, const double* weights) const;
  [[nodiscard]] double squared_norm(std::size_t i, const Window& window) const;
  [[nodiscard]] double product(std::size_t i, const Window& a, const Window& b) const;
  [[nodiscard]] double dot_window(std::size_t i, const Window& window, WeightView w) const;
  void add_window(std::size_t i, const Window& window, double step, const WeightWriter& w) const;
  void add_rows(std::size_t i, const Window& window, double step, double* weights) const;

  void lay_out_weights();
  void check() const;
  void check_gold() const;
  void measure_images();
  void score_windows(std::size_t i, WeightView w, Buffers& buffers) const;
  void clear_blanks(std::size_t i, std::size_t size, Buffers& buffers) const;
  void add_losses(std::size_t i, double scale, Buffers& buffers) const;
  void find_maxima(Buffers& buffers) const;
  [[nodiscard]] double exact_value(std::size_t i, const Window& window, double loss_scale,
                                   const Buffers& buffers) const;
  [[nodiscard]] bool next_best(std::size_t i, double loss_scale, const Buffers& buffers, Window& best,
                               double& value) const;
  void suppress(const Window& window, double allowed, Buffers& buffers) const;
  void emit(std::size_t i, const Window& window, CandidateSink& sink) const;

  // Calls function(weight, pixel) for the pixels of a window that are not 0, and its constant feature.
  template <class Function>
  void visit_window(std::size_t i, const Window& window, Function function) const;

  DetectionData data_;
  DetectionOptions options_;
  std::vector<std::size_t> offsets_;       // of the images' pixels
  std::vector<std::size_t> size_offsets_;  // of the sizes' weights within a label's
  std::size_t label_weights_ = 0;
  std::uint32_t reach_y_ = 0;
  std::uint32_t reach_x_ = 0;
  std::vector<double> norms_;   // of the images
  std::vector<Area> contents_;  // of the images: outside of it all pixels are 0
  double greatest_loss_ = 0;
};

template <class Function>
void DetectionTask::visit_window(std::size_t i, const Window& window, Function function) const {
  const auto [height, width] = options_.sizes[window.size];
  const Area part = content(i, window);
  const std::size_t stride = data_.widths[i];
  for (std::size_t k = 0; k < data_.channels; ++k) {
    for (std::size_t y = part.top; y < part.bottom; ++y) {
      const float* row = corner(i, window) + (k * data_.heights[i] + y) * stride;
      const std::size_t index = block(window) + (k * height + y) * width;
      for (std::size_t x = part.left; x < part.right; ++x) {
        if (row[x] != 0) function(static_cast<WeightIndex>(index + x), double{row[x]});
      }
    }
  }
  if (options_.bias) function(static_cast<WeightIndex>(block(window) + pixel_weights(window.size)), 1.0);
}

}  // namespace marginloom
