// A visit of one example: gather, solve, scatter. What a learner's update rules see of the weights is what was
// gathered, and what they do to them is steps on the candidates of one block.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/block.hpp"
#include "core/random.hpp"
#include "core/simplex_qp.hpp"
#include "core/task.hpp"
#include "core/weight_delta.hpp"
#include "core/weight_writer.hpp"
#include "learners/step_damping.hpp"

namespace marginloom {

// What came of a visit.
struct Step {
  double gain = 0;               // in the dual
  double tried_gain = 0;         // with the steps that were left out because they gain too little
  std::size_t tried = 0;         // steps that were looked at
  bool as_a_whole = false;       // the block was solved, not one candidate after the other
  double residual = 0;           // how far from optimal the block was before, in units of violation
  double largest_violation = 0;  // among its candidates, afterwards
  std::size_t updates = 0;       // duals that changed
};

// What an engine asks of steps.
struct StepRequest {
  StepDamping damping = {};
  double least_gain = 0;  // of a step on one candidate or, where a block is solved as a whole, of the block
  double tolerance = 0;   // residual with which a block counts as solved; 0: the learner's own
  Random random{0};
};

// The block that is being visited, what was gathered for it, and where a rule has led.
struct OpenBlock {
  const Block* block = nullptr;   // stored or, where it does without its rows, rebuilt
  std::vector<ByteView> outputs;  // of the candidates, where differences are implicit
  std::vector<double> values;     // weights of the support, or w.d of the candidates
  std::vector<double> as_read;    // `values` before a rule moved them with its steps, if it does so
  std::vector<double> factors;    // how often the weights of the support count, if any does so more than once
  std::vector<double> duals;      // before a rule, and after it
  std::vector<double> steps;      // what a rule has added to them

  // How much w.d of a candidate is, as gathered.
  [[nodiscard]] double dot(const Block::Row& row) const;
};

// Memory of one thread that is used again and again; none of it means anything after the function that fills it.
struct VisitScratch {
  std::vector<double> gradient;
  std::vector<double> scores;  // w.d of the candidates, where a rule moves them by products
  std::vector<std::uint32_t> order;
  std::vector<double> spread;  // one number per position of the support, all 0 between uses
  std::vector<ByteView> outputs;
  std::vector<double> products;
  SimplexQp qp;
  Block rebuilt;
  std::unique_ptr<Scratch> of_task;  // made when it is needed first

  [[nodiscard]] Scratch& for_task(const Task& task) {
    if (!of_task) of_task = task.make_scratch();
    return *of_task;
  }
};

// The visits of one thread, one after the other.
struct Visit {
  StepRequest asked = {};
  OpenBlock open = {};
  VisitScratch scratch = {};
};

// Reads what the solution needs: values and duals of the open block.
void gather(const Task& task, std::size_t i, WeightView w, Visit& visit);

// Moves the weights by the steps, times the differences; notes that in the delta if there is one.
void scatter(const Task& task, std::size_t i, const WeightWriter& w, Visit& visit, WeightDelta* delta = nullptr);

// w += sum of the numbers, one per candidate of the open block, times the differences.
void add_differences(const Task& task, std::size_t i, std::span<const double> numbers, const WeightWriter& w,
                     Visit& visit);

// Fills in what a block that has support and products lacks: the products of its first candidate, which is new.
void multiply_first(Block& block, VisitScratch& scratch);

// The products of all pairs of differences of the block, row by row, each weight counted as often as damping says.
void fill_products(const Task& task, std::size_t i, Visit& visit, std::span<double> products);

// Update rules. Each moves the open block's duals to better ones, given what was gathered, and says what that gains;
// none knows the weights.

// What the duals of one example are worth: sum_y a_y loss_y - 1/2 |w|^2 - ridge / 2 (sum_y a_y)^2, a >= 0, sum a <=
// budget.
struct BlockTerms {
  double ridge = 0;
  double budget = SimplexQp::no_budget;
};

// Sweeps of steps on single variables, the first candidate first and the others in random order, until one gains little
// of what all have gained. Without a budget.
[[nodiscard]] Step sweep(const BlockTerms& terms, int most_sweeps, Visit& visit);

// The exact solution, in closed form where all products are alike, unless the residual is within the tolerance.
[[nodiscard]] Step solve_exactly(const Task& task, std::size_t i, const BlockTerms& terms, double tolerance,
                                 const UniformProducts* uniform, Visit& visit);

// Lines 4 to 9 of fastssvm-2021, Algorithm 2: steps on single variables, clipped to what the budget leaves.
[[nodiscard]] Step sweep_as_published(const BlockTerms& terms, double tolerance, Visit& visit);

}  // namespace marginloom
