// Every thread takes some columns of the weights at a time and learns them to the end of the pass, alone: for tasks
// whose outputs are made of decisions (DecisionForm), which have nothing to do with each other. Of such a task every
// column is a binary SVM, and dual coordinate descent on it is that of Hsieh and others 2008 (A Dual Coordinate Descent
// Method for Large-scale Linear SVM), with the steps of decision_duals.hpp:
//
//   eight columns at a time, in a copy of their weights that lies together: the scores of an input in all of them, the
//   eight steps and their effect take hardly longer than those of one;
//   sweeps over the rows in random order; a row whose eight decisions were all pushed beyond their bounds, by more than
//   any decision of its column was to move in the sweep before, is left out for the rest of the pass;
//   where C is large, so that a dual needs many steps to its bound, the first pass begins with a smaller one: the
//   solution for that, times the ratio, is near that for the next.
//
// Threads share nothing, so the same seed gives the same bits for any number of them.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "core/aligned_vector.hpp"
#include "engines/decision_duals.hpp"
#include "engines/engine.hpp"
#include "engines/pass_order.hpp"
#include "engines/sweep_average.hpp"
#include "learners/block_learner.hpp"

namespace marginloom {

class Columns final : public Engine {
 public:
  // `rows` are the ones to visit. Of the learner it asks for the costs, the loss and the schedule, not for blocks.
  // Throws std::invalid_argument if the task or the learner cannot be used.
  Columns(std::shared_ptr<const Task> task, std::shared_ptr<BlockLearner> learner, std::span<const std::size_t> rows,
          OrderOptions options, int threads);

  // Bytes that it takes for a task besides the weights; none if the task's outputs are not made of decisions.
  struct Needs {
    std::size_t duals = 0;
    std::size_t state = 0;   // at most
    std::size_t thread = 0;  // each
  };
  [[nodiscard]] static Needs needs(const Task& task);

  bool weights_are_final() const override { return average_.empty(); }
  void final_weights(std::span<double> result) const override;
  StateArrays export_state() const override;
  void import_state(const StateArrays& state) override;
  void forget_averages() override { average_.begin(); }

 private:
  // What one thread changes: a group of columns, its weights with a row of eight per feature.
  struct Group {
    std::size_t number = 0;
    AlignedVector<double> weights;
    AlignedVector<double> mean;  // over the sweeps of the pass, if the learner wants it
    std::vector<std::uint32_t> order;
    double limits[DecisionDuals::group_size] = {};  // beyond which a decision is settled
    std::size_t updates = 0;
  };
  // What a pass has led to, by group.
  struct Outcome {
    double primal = 0;
    double dual = 0;
    double slack = 0;
    std::size_t updates = 0;
    std::size_t active = 0;
  };

  PassReport do_pass(StopRequest& stop) override;
  std::optional<Certificate> do_certify(int threads, StopRequest& stop) override;
  // Calls work(group, stop request or null) for every group, on so many threads; false if it was stopped.
  template <class Work>
  bool for_groups(int threads, StopRequest& stop, std::vector<ThreadTime>& times, Work work);
  [[nodiscard]] bool ended(StopRequest* stop);
  void improve(Group& group, Random random, StopRequest* stop);
  void grow(Group& group, Random& random, StopRequest* stop);
  void sweep(Group& group, std::span<const DecisionTerms> terms, Random& random, StopRequest* stop);
  void begin_sweeps(Group& group) const;
  // The objectives of these weights of a group; the rows that have a slack are noted.
  [[nodiscard]] Outcome outcome(const Group& group, const AlignedVector<double>& weights, StopRequest* stop);
  void read_weights(std::span<const double> from, std::size_t group, AlignedVector<double>& to) const;
  void write_weights(const Group& group, const AlignedVector<double>& from, std::span<double> to) const;
  void recompute(Group& group) const;

  std::shared_ptr<BlockLearner> learner_;
  OrderOptions options_;
  Random random_;
  int threads_;
  DecisionDuals duals_;
  std::vector<std::uint32_t> rows_;     // those that are visited
  std::vector<std::uint8_t> violated_;  // by row: whether it had a slack after the last pass
  SweepAverage average_;
  std::atomic<bool> ended_{false};
};

}  // namespace marginloom
