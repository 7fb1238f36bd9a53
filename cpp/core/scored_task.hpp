// Tasks with scores: the weights reach an example as a vector of scores s = A w, linear in w, and search, gather and
// scatter need nothing else of them. A class has a score, a label has one. With d_j = phi(gold) - phi(output j) and
// w.d_j = b_j.s, what Task asks for is made of two halves, one that knows the weights and one that knows the outputs:
//
//   find     s = A w            then  search in s
//   predict  s = A w            then  search in s
//   gather   s = A w            then  b_j.s for every output
//   scatter  r = sum_j step_j b_j  then  w += A^T r
//
// Whoever has the scores already, such as an engine that keeps them up to date, uses the second halves alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/input_matrix.hpp"
#include "core/score_steps.hpp"
#include "core/task.hpp"

namespace marginloom {

// Where all of the weights are one matrix W of features by columns, every example is a row x of the inputs, and its
// scores are W x: what a step on one example does to the scores of another is then known from the product of their
// inputs.
struct ProductForm {
  const InputMatrix& inputs;
  std::size_t columns;  // of W
  std::size_t stride;   // and with the padding of its rows
};

// Where moreover an output is a set of yes-or-no decisions, one per column of W, whose losses add up: columns have
// nothing to do with each other then. A row of the inputs makes one example or, with fewer columns each, several.
struct DecisionForm {
  ProductForm weights;
  std::size_t columns_per_example;
  std::size_t examples_per_row;
  std::vector<double> missing;   // by column: loss of a wrong no
  std::vector<double> spurious;  // and of a wrong yes
};

// The same decisions by number, also where some of them have to do with each other.
struct DecisionCounts {
  std::size_t rows;
  std::size_t columns;
  std::size_t columns_per_example;
  std::size_t examples_per_row;
};

class ScoredTask : public Task, public ImplicitDifferences {
 public:
  // What make_scratch() gives is one of these.
  struct ScoredScratch : Scratch {
    std::vector<double> scores;  // of one example, or of those of a batch one after the other
  };

  void predict(std::size_t i, WeightView w, int k, Scratch& scratch, std::vector<Output>& outputs) const final;
  double find(std::size_t i, WeightView w, const FindOptions& options, Scratch& scratch,
              CandidateSink& sink) const final;
  void predict_batch(std::span<const std::size_t> examples, WeightView w, int k, Scratch& scratch,
                     std::span<std::vector<Output>> outputs) const final;
  void find_batch(std::span<const std::size_t> examples, WeightView w, std::span<const FindOptions> options,
                  Scratch& scratch, CandidateSink& sink, std::span<double> bounds) const final;
  const ImplicitDifferences* implicit() const final { return this; }
  void gather(std::size_t i, std::span<const ByteView> outputs, WeightView w, std::span<double> values) const final;
  void scatter(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
               const WeightWriter& w) const final;

  // What knows the weights.

  // The numbers that `score` writes at most, with padding.
  [[nodiscard]] virtual std::size_t score_count() const = 0;
  virtual void score(std::size_t i, WeightView w, double* scores) const = 0;
  // The same for several examples, score_count() numbers each.
  virtual void score_batch(std::span<const std::size_t> examples, WeightView w, double* scores) const;
  // At least those scores that gather_scored() reads for these outputs.
  virtual void score_outputs(std::size_t i, std::span<const ByteView> outputs, WeightView w, double* scores) const;
  // The transpose of `score`: w += the sum of the steps times the gradients of the scores.
  virtual void add_score_steps(std::size_t i, std::span<const ScoreStep> steps, const WeightWriter& w) const = 0;

  // What knows the outputs. Each is what the function of Task without "scored" in its name makes of the scores.

  virtual void predict_scored(std::size_t i, const double* scores, int k, Scratch& scratch,
                              std::vector<Output>& outputs) const = 0;
  virtual double find_scored(std::size_t i, const double* scores, const FindOptions& options, Scratch& scratch,
                             CandidateSink& sink) const = 0;
  virtual void gather_scored(std::size_t i, std::span<const ByteView> outputs, const double* scores,
                             std::span<double> values) const = 0;
  // Adds to `result` what the steps on the outputs do to the scores.
  virtual void scatter_scored(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
                              ScoreSteps& result) const = 0;
  // Tells that these functions look at example i soon.
  virtual void prefetch_scored(std::size_t) const {}

  // Which weights there are, where they have this form; the capability `factored`.
  [[nodiscard]] virtual std::optional<ProductForm> product_form() const { return std::nullopt; }

  // Which decisions there are, where outputs are made of them; the capability `decisions`.
  [[nodiscard]] virtual std::optional<DecisionForm> decision_form() const { return std::nullopt; }
  [[nodiscard]] virtual std::optional<DecisionCounts> decision_counts() const { return std::nullopt; }
  // The right decisions of a row in eight columns from a multiple of eight on, as bits.
  [[nodiscard]] virtual std::uint8_t right_decisions(std::size_t row, std::size_t first_column) const;
  // Appends the output of example i in which just these of its decisions, numbered from 0, are wrong.
  virtual void append_output(std::size_t i, std::span<const std::size_t> wrong, std::vector<std::uint8_t>& bytes) const;
};

}  // namespace marginloom
