// The learners that own dual variables: what certificates, checkpoints and whoever drives them need of all of them.
// Some keep a block of candidates per example (block_learner.hpp), others make passes by themselves (pass_learner.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/example_ids.hpp"
#include "core/example_numbers.hpp"
#include "core/loss.hpp"
#include "core/state.hpp"
#include "core/task.hpp"

namespace marginloom {

// What a learner minimises: 1/2 |w|^2 + sum_i costs[i] loss(slack_i).
struct Objective {
  std::shared_ptr<const Task> task;
  ExampleNumbers costs;
  Loss loss;
};

class DualLearner {
 public:
  explicit DualLearner(Objective&& objective);
  virtual ~DualLearner() = default;
  DualLearner(const DualLearner&) = delete;
  DualLearner& operator=(const DualLearner&) = delete;
  DualLearner(DualLearner&&) = default;
  DualLearner& operator=(DualLearner&&) = default;

  [[nodiscard]] const Task& task() const { return *objective_.task; }
  [[nodiscard]] const std::shared_ptr<const Task>& shared_task() const { return objective_.task; }
  [[nodiscard]] Loss loss() const { return objective_.loss; }
  [[nodiscard]] double cost(std::size_t i) const { return objective_.costs[i]; }
  [[nodiscard]] const ExampleNumbers& costs() const { return objective_.costs; }

  // States name the examples by their places, or by these ids, if they are some of a larger set.
  [[nodiscard]] const ExampleIds& ids() const { return ids_; }
  void name_examples(std::vector<std::uint64_t> ids);

  // Tells the last known objectives, so that thresholds can shrink with the gap.
  virtual void note_gap(double /*primal*/, double /*dual*/) {}

  // The dual objective, given |w|^2; and w recomputed from the dual variables.
  [[nodiscard]] virtual double dual(double squared_norm) const = 0;
  virtual void write_weights(std::span<double> w, int threads = 1) = 0;

  // The variables that it keeps, and the memory that they take.
  struct Held {
    std::size_t candidates = 0;
    std::size_t bytes = 0;
  };
  [[nodiscard]] virtual Held held() const = 0;

  // A state names examples by their ids, and may hold others than this learner has: those are left out, and examples
  // that it does not hold have no duals.
  [[nodiscard]] virtual StateArrays export_state() const = 0;
  virtual void import_state(const StateArrays& state) = 0;
  // States of disjoint examples as one; the duals of both are those of the union. Throws std::invalid_argument if an
  // example is in both, or, as it does by default, if this learner's variables do not belong to single examples.
  [[nodiscard]] virtual StateArrays merged(const StateArrays& first, const StateArrays& second) const;

 protected:
  Objective objective_;
  ExampleIds ids_;
};

}  // namespace marginloom
