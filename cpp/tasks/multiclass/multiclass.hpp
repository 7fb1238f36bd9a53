// One class per example: phi(x, y) has the features of x in the part of the weights that belongs to class y.
//
//   score       of class y: w_y.x, with the bias as one more feature of x if there is one (so it is regularised)
//   difference  of class y: +x in the part of gold, -x in the part of y
//   products    d_y.d_y' = |x|^2 (1 + [y = y']) for any two wrong classes: nothing needs to be computed for them
//
// Weights lie in rows of `stride` doubles, one row per feature (the bias last), one column per class, the padding
// always 0. Candidates are implicit: a working set holds the numbers of its classes and no copy of the input.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "core/input_matrix.hpp"
#include "core/marginals.hpp"
#include "core/prefetch.hpp"
#include "core/scored_task.hpp"

namespace marginloom {

using ClassIndex = std::uint32_t;

class MulticlassTask final : public ScoredTask, public Marginals {
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
  bool candidate(std::size_t i, ByteView output, Scratch& scratch, CandidateSink& sink) const override;
  double work(std::size_t i) const override { return static_cast<double>(inputs_.entry_count(i)) + 1; }
  void prefetch(std::size_t i) const override {
    inputs_.prefetch(i);
    prefetch_scored(i);
  }
  void products(std::size_t i, ByteView output, std::span<const ByteView> others, Scratch& scratch,
                std::span<double> result) const override;
  std::optional<UniformProducts> uniform_products(std::size_t i) const override {
    const double norm = inputs_.squared_norm(i);
    return UniformProducts{.shared = norm, .excess = norm};
  }

  std::size_t score_count() const override { return stride_; }
  void score(std::size_t i, WeightView w, double* scores) const override {
    inputs_.scores(i, w.data(), stride_, scores);
  }
  void score_batch(std::span<const std::size_t> examples, WeightView w, double* scores) const override {
    inputs_.scores(examples, w.data(), stride_, scores);
  }
  void score_outputs(std::size_t i, std::span<const ByteView> outputs, WeightView w, double* scores) const override;
  void add_score_steps(std::size_t i, std::span<const ScoreStep> steps, const WeightWriter& w) const override;
  void predict_scored(std::size_t i, const double* scores, int k, Scratch& scratch,
                      std::vector<Output>& outputs) const override;
  double find_scored(std::size_t i, const double* scores, const FindOptions& options, Scratch& scratch,
                     CandidateSink& sink) const override;
  void gather_scored(std::size_t i, std::span<const ByteView> outputs, const double* scores,
                     std::span<double> values) const override;
  void scatter_scored(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
                      ScoreSteps& result) const override;
  void prefetch_scored(std::size_t i) const override {
    inputs_.prefetch_norm(i);
    prefetch_line(&gold_[i]);
  }
  std::optional<ProductForm> product_form() const override { return ProductForm{inputs_, class_count_, stride_}; }

  // The only part is the example, and its choices are the classes.
  std::size_t part_count(std::size_t) const override { return 1; }
  std::size_t choice_count(std::size_t) const override { return class_count_; }
  void score_choices(std::size_t i, WeightView w, Scratch& scratch) const override;
  void marginals(std::size_t i, const Tempering& tempering, const MarginalQuery& query,
                 Scratch& scratch) const override;

  [[nodiscard]] std::size_t class_count() const { return class_count_; }
  [[nodiscard]] std::size_t stride() const { return stride_; }

 private:
  struct Buffers;

  [[nodiscard]] static ClassIndex decode(ByteView output) {
    ClassIndex result;
    std::memcpy(&result, output.data(), sizeof result);
    return result;
  }
  [[nodiscard]] double cost(std::size_t right, std::size_t y) const {
    if (!costs_.empty()) return costs_[right * class_count_ + y];
    return right == y ? 0 : 1;
  }
  void emit(std::size_t i, ClassIndex wrong, CandidateSink& sink) const;

  InputMatrix inputs_;
  std::span<const ClassIndex> gold_;
  std::size_t class_count_;
  std::size_t stride_;
  std::vector<double> costs_;
};

}  // namespace marginloom
