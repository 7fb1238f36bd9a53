// Dual coordinate descent on one binary SVM per column of the weights, for tasks whose outputs are made of decisions
// (DecisionForm) that have nothing to do with each other: that of Hsieh and others 2008 (A Dual Coordinate Descent
// Method for Large-scale Linear SVM).
//
//   primal, dual  see decision_duals.hpp
//   update        of the dual b of one decision, with y = 1 if yes is right and -1 if no is:
//                   g = y (cost - y w.x - y ridge b),   b <- b + 1.5 g / (|x|^2 + ridge)  within its bounds,
//                   and w moves by the change of b times x
//
// Every thread takes some columns at a time and learns them to the end of the pass, alone:
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
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/aligned_vector.hpp"
#include "core/named_bytes.hpp"
#include "core/random.hpp"
#include "learners/decision_duals.hpp"
#include "learners/pass_learner.hpp"

namespace marginloom {

class BinaryDcd final : public PassLearner {
 public:
  struct Parameters {
    Loss loss = Loss::squared_hinge;
    int inner_passes = 10;  // sweeps after the first one of a pass
    bool averaged = true;   // over the sweeps of a pass
  };

  // Throws std::invalid_argument if the outputs of the task are not made of independent decisions.
  BinaryDcd(std::shared_ptr<const Task> task, ExampleNumbers costs, Parameters parameters);

  // Bytes that it takes for a task besides the weights; none if the task's outputs are not made of decisions.
  [[nodiscard]] static NamedBytes needs(const Task& task, int threads);

  bool averages() const override { return parameters_.averaged; }
  PassReport pass(const Work& work, const Order& order, std::span<double> mean) override;
  Certificate certify(const Work& work, WeightView mean) override;
  double dual(double squared_norm) const override;
  void write_weights(std::span<double> w, int threads = 1) override;
  Held held() const override;
  StateArrays export_state() const override;
  void import_state(const StateArrays& state) override;

 private:
  // What one thread changes: a group of columns, its weights with a row of eight per feature.
  struct Group {
    std::size_t number = 0;
    AlignedVector<double> weights;
    AlignedVector<double> mean;  // over the sweeps of the pass, if it averages
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

  // Calls process(group, stop request or null) for every group, on so many threads; false if it was stopped.
  template <class Process>
  bool for_groups(int threads, StopRequest& stop, std::vector<ThreadTime>& times, Process process);
  [[nodiscard]] bool ended(StopRequest* stop);
  void improve(Group& group, const Work& work, bool shuffle, Random random, StopRequest* stop);
  void grow(Group& group, const Work& work, bool shuffle, Random& random, StopRequest* stop);
  void sweep(Group& group, std::span<const DecisionTerms> terms, bool shuffle, Random& random, StopRequest* stop);
  void begin_sweeps(Group& group, std::span<const std::size_t> rows) const;
  // The objectives of these weights of a group; the rows that have a slack are noted.
  [[nodiscard]] Outcome outcome(const Group& group, const AlignedVector<double>& weights,
                                std::span<const std::size_t> rows, StopRequest* stop);
  void read_weights(std::span<const double> from, std::size_t group, AlignedVector<double>& to) const;
  void write_weights(const Group& group, const AlignedVector<double>& from, std::span<double> to) const;
  void recompute(Group& group) const;
  void require_all_examples() const;

  Parameters parameters_;
  DecisionDuals duals_;
  std::vector<std::uint8_t> violated_;  // by row: whether it had a slack after the last pass
  std::atomic<bool> ended_{false};
};

}  // namespace marginloom
