// Visits of examples one after the other, each with the scores that all steps before it have led to, by threads that
// never write to each other's weights. For weights that have the product form.
//
// The visits are cut into groups. Three kinds of thread work on different groups at a time:
//
//   scorers      each owns the rows of W of a range of features, which nobody else touches: it applies the changes of
//                a group that was solved and computes its part of the scores W x of a group that comes
//   multipliers  compute the products x_i.x_j of the inputs of a group with those of the groups that follow
//   the solver   adds up the parts of a visit's scores, adds what the visits before it did that the scorers did not
//                know of (their changes times the products), and calls for the step. It needs no weights
//
// The scorers are `lag` groups behind: the scores of group g are computed with the changes of all groups before
// g - lag, neither more nor less. So the result depends on the number of scorers, through the order of additions, and
// on nothing else: the same bits in every run.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "core/input_products.hpp"
#include "core/parallel.hpp"
#include "core/pass_report.hpp"
#include "core/scored_task.hpp"
#include "core/team.hpp"

namespace marginloom {

class ScorePipeline {
 public:
  // Makes the step of a visit: gets its place in the order, the scores of the example there and an empty list for its
  // steps.
  using MakeStep = std::function<void(std::size_t, const double*, ScoreSteps&)>;

  // The inputs and the weights must outlive it. Needs a team of at least three.
  ScorePipeline(const ProductForm& form, std::span<double> weights, Team& team, std::size_t scorers);

  // What it takes, in bytes, for a form, so many threads and scorers among them.
  [[nodiscard]] static std::size_t bytes_for(const ProductForm& form, std::size_t threads, std::size_t scorers);

  // Visits the examples in their order, calling `step` on the calling thread; then the weights have all changes. Adds
  // what each thread did to `times`, one per thread of the team. Returns false if it was stopped; the changes of all
  // steps that were made are in the weights then too.
  bool run(std::span<const std::size_t> order, const MakeStep& step, std::span<ThreadTime> times, StopRequest& stop);

 private:
  static constexpr std::size_t group_size = 32;
  static constexpr std::size_t lag = 1;
  static constexpr std::size_t near = lag + 2;  // groups whose scores and changes are kept at a time

  struct alignas(64) Counter {
    std::atomic<std::size_t> value{0};
  };
  struct alignas(64) Scorer {
    ColumnRange range;
    std::vector<double> scores;  // of the groups that are near, without padding: less to send
    std::vector<double> row;     // scores of one visit, with it
    std::size_t applied = 0;     // groups whose changes the range has
    std::atomic<std::size_t> scored{0};
  };

  [[nodiscard]] std::span<const std::size_t> group(std::size_t g) const;
  [[nodiscard]] std::size_t group_count() const { return (order_.size() + group_size - 1) / group_size; }
  [[nodiscard]] double* changes(std::size_t g, std::size_t place);
  [[nodiscard]] float* products(std::size_t g, std::size_t back);
  [[nodiscard]] float* moves(std::size_t g) { return moves_.data() + g % near * group_size * single_stride_; }
  void begin(std::span<const std::size_t> order);
  template <class Ready>
  bool wait_until(Ready ready) const;

  void solve(const MakeStep& step, ThreadTime& time, StopRequest& stop);
  [[nodiscard]] bool wait_for_group(std::size_t g) const;
  void solve_group(std::size_t g, const MakeStep& step);
  void gather_scores(std::size_t g);
  void correct_scores(std::size_t g, std::size_t place);
  void publish_changes(std::size_t g);

  void score(Scorer& scorer, ThreadTime& time);
  void apply_group(Scorer& scorer, std::size_t g);
  void score_group(Scorer& scorer, std::size_t g);

  void multiply(InputProducts& products, ThreadTime& time);
  void multiply_group(InputProducts& products, std::size_t g);

  const InputMatrix& inputs_;
  std::span<double> weights_;
  Team& team_;
  std::size_t columns_;
  std::size_t stride_;
  std::size_t single_stride_;  // of rows in single precision
  std::size_t ring_;           // groups whose products are kept at a time
  std::vector<Scorer> scorers_;
  std::vector<InputProducts> multipliers_;
  std::vector<double> changes_;      // of the groups that are near
  std::vector<float> products_;      // of the groups in the ring
  std::vector<Counter> multiplied_;  // by place in the ring: 1 + the last group whose products are there
  std::vector<double> scores_;       // of the group that is being solved
  std::vector<float> corrections_;   // of these scores
  std::vector<float> moves_;         // the solver's own copy of the changes, in single precision
  std::vector<ScoreSteps> steps_;    // of the visits of the group that is being solved
  std::span<const std::size_t> order_;
  Counter next_;    // group to multiply
  Counter solved_;  // groups
  std::atomic<bool> ending_{false};
};

}  // namespace marginloom
