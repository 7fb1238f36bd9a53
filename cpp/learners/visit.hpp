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
#include "learners/caution.hpp"

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

// The scratch of a thread that visits blocks, all of it the learner's; reused without allocating once it has grown.
struct Visit {
  // What the engine asks for.
  Caution caution = {};
  double least_gain = 0;  // of a step on one candidate or, where a block is solved as a whole, of the block
  Random random{0};

  // The block as it is solved, stored or rebuilt here; its coordinates, and its duals before and after.
  const Block* block = nullptr;
  std::vector<ByteView> outputs;  // of the candidates, where differences are implicit
  std::vector<double> values;     // weights of the support, or w.d of the candidates
  std::vector<double> gathered;   // `values` as they were read, if a rule has moved weights of the support since
  std::vector<double> scores;     // w.d of the candidates, if a rule moves them by products instead
  std::vector<double> factors;    // how often the weights of the support count, if any does so more than once
  std::vector<double> duals;
  std::vector<double> steps;

  // Of the rules.
  std::vector<double> gradient;
  std::vector<std::uint32_t> order;
  std::vector<double> spread;  // one number per position of the support, all 0 between uses
  SimplexQp qp;

  // Of blocks that do without their rows.
  Block rebuilt;
  std::unique_ptr<Scratch> scratch;

  // Of learners that solve over many blocks.
  std::vector<std::size_t> waiting;  // examples with candidates that are not solved for yet

  // How much w.d of a candidate is, as gathered.
  [[nodiscard]] double dot(const Block::Row& row) const;
};

// Reads what the solution needs: visit.values and visit.duals.
void gather(const Task& task, std::size_t i, WeightView w, Visit& visit);

// Moves the weights by the visit's steps, times the differences; notes that in the delta if there is one.
void scatter(const Task& task, std::size_t i, const WeightWriter& w, Visit& visit, WeightDelta* delta = nullptr);

// Fills in what a block that has support and products lacks: the products of its first candidate, which is new.
void multiply_first(Block& block, Visit& visit);

// The products of all pairs of differences of the block, row by row, each weight counted as often as caution asks for.
void fill_products(const Task& task, std::size_t i, Visit& visit, std::span<double> products);

// Update rules. Each moves visit.duals from those of the block to better ones, given what was gathered, and says what
// that gains; none knows the weights.

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
