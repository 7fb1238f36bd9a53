// One class per example: phi(x, y) has the features of x in the part of the weights that belongs to class y.
//
//   score       of class y: w_y.x, with the bias as one more feature of x if there is one (so it is regularised)
//   difference  of class y: +x in the part of gold, -x in the part of y
//   products    d_y.d_y' = |x|^2 (1 + [y = y']) for any two wrong classes: nothing needs to be computed for them
//
// Weights lie in rows of `stride` doubles, one row per feature (the bias last), one column per class, the padding
// always 0. Candidates are implicit: a working set holds the numbers of its classes and no copy of the input.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "core/factored_task.hpp"
#include "core/input_matrix.hpp"
#include "core/kernels.hpp"
#include "core/prefetch.hpp"

namespace marginloom {

using ClassIndex = std::uint32_t;

class MulticlassTask final : public Task, public FactoredTask {
 public:
  // `gold` has one class per row of the inputs, or is empty: nothing to learn from. `costs` is the loss of class y
  // where class g is right, costs[g * class_count + y], or empty: 1 for every wrong class. The memory of `inputs` and
  // `gold` must outlive the task. Throws std::invalid_argument if they contradict themselves.
  MulticlassTask(const InputData& inputs, std::span<const ClassIndex> gold, std::size_t class_count,
                 std::vector<double> costs);

  std::size_t size() const override { return inputs_.size(); }
  std::size_t dimension() const override { return inputs_.width() * stride_; }
  Capabilities capabilities() const override;
  std::unique_ptr<Scratch> make_scratch() const override;
  void predict(std::size_t i, WeightView w, int k, Scratch& scratch, std::vector<Output>& outputs) const override;
  double find(std::size_t i, WeightView w, const FindOptions& options, Scratch& scratch,
              CandidateSink& sink) const override;
  bool candidate(std::size_t i, ByteView output, Scratch& scratch, CandidateSink& sink) const override;
  double work(std::size_t i) const override { return static_cast<double>(inputs_.entry_count(i)) + 1; }
  void predict_batch(std::span<const std::size_t> examples, WeightView w, int k, Scratch& scratch,
                     std::span<std::vector<Output>> outputs) const override;
  void find_batch(std::span<const std::size_t> examples, WeightView w, std::span<const FindOptions> options,
                  Scratch& scratch, CandidateSink& sink, std::span<double> bounds) const override;
  std::optional<UniformProducts> uniform_products(std::size_t i) const override {
    const double norm = inputs_.squared_norm(i);
    return UniformProducts{.own = 2 * norm, .shared = norm};
  }

  void prefetch(std::size_t i) const override { inputs_.prefetch(i); }

  // The scores of all classes of some examples, class_count numbers each.
  void scores(std::span<const std::size_t> examples, WeightView w, Scratch& scratch, std::span<double> result) const;

  void gather(std::size_t i, std::span<const ByteView> outputs, WeightView w, std::span<double> values) const override;
  void scatter(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
               const WeightWriter& w) const override;
  void products(std::size_t i, ByteView output, std::span<const ByteView> others, Scratch& scratch,
                std::span<double> result) const override;

  const InputMatrix& inputs() const override { return inputs_; }
  std::size_t columns() const override { return class_count_; }
  std::size_t stride() const override { return stride_; }
  void prefetch_scored(std::size_t i) const override {
    inputs_.prefetch_norm(i);
    prefetch_line(&gold_[i]);
  }
  double search(std::size_t i, const double* scores, const FindOptions& options, Scratch& scratch,
                CandidateSink& sink) const override;
  void gather_scored(std::size_t i, std::span<const ByteView> outputs, const double* scores,
                     std::span<double> values) const override;
  void scatter_scored(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
                      std::vector<ColumnChange>& changes) const override;

  [[nodiscard]] std::size_t class_count() const { return class_count_; }

 private:
  struct Buffers;
  static constexpr std::size_t widest_stack = 256;  // columns of scores that fit on the stack

  [[nodiscard]] static ClassIndex decode(ByteView output) {
    ClassIndex result;
    std::memcpy(&result, output.data(), sizeof result);
    return result;
  }
  [[nodiscard]] double cost(std::size_t right, std::size_t y) const {
    if (!costs_.empty()) return costs_[right * class_count_ + y];
    return right == y ? 0 : 1;
  }
  // Whether touching whole rows with wide registers is faster than touching single columns of them: from as many
  // columns as a row has cache lines.
  [[nodiscard]] bool whole_rows(std::size_t columns) const {
    return stride_ <= widest_stack && stride_ <= columns * row_alignment;
  }
  // Calls call(an integral constant) with the largest group of outputs that one visit of x can serve, and returns it.
  template <class Call>
  static std::size_t in_groups(std::size_t left, Call call) {
    if (left >= 4) return call(std::integral_constant<std::size_t, 4>()), 4;
    if (left == 3) return call(std::integral_constant<std::size_t, 3>()), 3;
    if (left == 2) return call(std::integral_constant<std::size_t, 2>()), 2;
    return call(std::integral_constant<std::size_t, 1>()), 1;
  }
  template <std::size_t count>
  void gather_columns(std::size_t i, const ByteView* outputs, WeightView w, double* values) const;
  template <std::size_t count>
  void scatter_columns(std::size_t i, const ByteView* outputs, const double* steps, const WeightWriter& w) const;
  void predict_from(const double* scores, int k, Buffers& buffers, std::vector<Output>& outputs) const;
  void emit(std::size_t i, ClassIndex wrong, CandidateSink& sink) const;

  InputMatrix inputs_;
  std::span<const ClassIndex> gold_;
  std::size_t class_count_;
  std::size_t stride_;
  std::vector<double> costs_;
};

}  // namespace marginloom
