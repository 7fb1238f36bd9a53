// Block-coordinate Frank-Wolfe for the hinge (dcd-ssvm-2013, section 2.2, after Lacoste-Julien et al. 2013).
//
//   primal   min_w  1/2 |w|^2 + sum_i C_i xi_i,   xi_i = max(0, max_y [loss_i(y) - w.d_i(y)])
//   dual     max_a  sum a_iy loss_i(y) - 1/2 |w|^2   subject to  a >= 0,  sum_y a_iy <= C_i;  gold takes up the rest
//   update   for one example: y* = the most violated output (the oracle), s = the corner with a_iy* = C_i;
//            w_i = sum_y a_iy d_i(y),  l_i = sum_y a_iy loss_i(y),  w_s = C_i d_i(y*),  l_s = C_i loss_i(y*)
//            gap_i = (l_s - l_i) - w.(w_s - w_i),   gamma = clip(gap_i / |w_s - w_i|^2, 0, 1)      (exact line search)
//            a_i <- (1 - gamma) a_i + gamma s,   w <- w + gamma (w_s - w_i)
//   gap      sum_i gap_i over a pass is the duality gap, seen through weights that moved meanwhile
//   average  of all dual points: step_average.hpp
//
// The papers write C/n for our C. w_i is kept merged, one row in double precision, so that a step costs its size,
// however many outputs it is made of. The outputs stay known with their duals, so that w can be recomputed and a
// checkpoint rebuilt; with inner passes they also serve as a cache: a step towards the best of them needs no inference.
// Where differences are implicit there is no such row: w.w_i and the distances follow from the scores of the block's
// outputs and their products.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "learners/block_problem.hpp"
#include "learners/merged_row.hpp"
#include "learners/step_average.hpp"

namespace marginloom {

class FrankWolfe final : public BlockProblem {
 public:
  struct Parameters {
    int inner_passes = 0;  // over cached candidates
    bool averaged = false;
    std::size_t memory = Blocks::unlimited;
  };

  FrankWolfe(std::shared_ptr<const Task> task, ExampleNumbers costs, Parameters parameters);

  Schedule schedule() const override { return {.inner_passes = parameters_.inner_passes}; }
  FindOptions search(std::size_t) const override { return {}; }
  void absorb(const Candidate& candidate, VisitScratch& scratch) override;
  void searched(std::size_t i, double bound) override;
  Step visit(std::size_t i, WeightView w, const WeightWriter& writer, Visit& visit, bool may_drop) override;
  void begin_pass() override;
  PassEnd end_pass(std::span<double> w, Visit& visit, StopRequest& stop) override;
  double dual(double squared_norm) const override;
  Held held() const override;
  StateArrays export_state() const override;
  void import_state(const StateArrays& state) override;
  StateArrays merged(const StateArrays& first, const StateArrays& second) const override;

 private:
  enum class Oracle : std::uint8_t { none, gold, candidate };  // what the last search of an example brought
  static constexpr std::size_t gold = static_cast<std::size_t>(-1);
  // A line from the block's point to a corner.
  struct Line {
    double gap;        // how steeply the dual rises at its beginning
    double distance;   // |w_s - w_i|^2
    double share = 0;  // how far to go
  };

  // The cached candidate with the largest violation by what was gathered, or gold.
  [[nodiscard]] static std::size_t best_cached(const OpenBlock& open);
  // w_s - w_i, in path_; and the line along it.
  [[nodiscard]] Line line_by_rows(std::size_t i, std::size_t target, WeightView w, VisitScratch& scratch);
  [[nodiscard]] Line line_by_products(std::size_t i, std::size_t target, const OpenBlock& open) const;
  // Goes along the line.
  void move_by_row(std::size_t i, double share, const WeightWriter& w);
  // The duals after it; returns the change of the block's loss.
  double move_duals(std::size_t i, std::size_t target, double share, OpenBlock& open) const;
  void take_corner(std::size_t i, ByteView output, VisitScratch& scratch);
  void take_corner(const Candidate& candidate);
  [[nodiscard]] std::vector<MergedRow> rows_of_duals();

  Parameters parameters_;
  bool implicit_;
  std::vector<Oracle> oracle_;
  std::vector<MergedRow> merged_;  // w_i; empty where differences are implicit
  MergedRow corner_;               // w_s
  std::size_t corner_of_ = gold;   // the example whose newest candidate it belongs to
  struct Way {
    WeightIndex index;
    double from;  // w_i
    double way;   // w_s - w_i
  };
  std::vector<Way> path_;
  std::vector<double> late_steps_;  // as the average takes them
  double gap_of_pass_ = 0;
};

}  // namespace marginloom
