// Who computes what, where and when: an engine drives a learner over the examples, one pass at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/parallel.hpp"
#include "core/state.hpp"
#include "core/task.hpp"
#include "core/weight_buffer.hpp"
#include "engines/certificate.hpp"

namespace marginloom {

// Seconds that one thread spent on each kind of work; together they are the time that the pass took.
struct ThreadTime {
  double inference = 0;
  double update = 0;
  double publishing = 0;  // of weights, to other threads
  double waiting = 0;     // for other threads

  [[nodiscard]] double sum() const { return inference + update + publishing + waiting; }
};

// What one pass did: as many inferences as there are examples.
struct PassReport {
  std::size_t inferences = 0;
  std::size_t updates = 0;
  std::size_t wrong = 0;  // examples whose inference brought a candidate
  // Mean over the examples as they were visited: of the loss of predictions, or of the slack where the search is
  // loss-augmented.
  double training_loss = 0;
  std::vector<ThreadTime> threads;
  // Of dual learners: candidates that searches brought, and those that the learner could still use when it got them.
  std::size_t found = 0;
  std::size_t accepted = 0;
  double weights_age = 0;  // updates that the learner was ahead of the weights that a search used, on average
  bool stopped = false;    // cut short by the owner
  // Of dual learners: the objectives after the pass, the primal by the slacks as they were visited.
  std::optional<double> primal_estimate;
  std::optional<double> dual;
  std::size_t active = 0;             // candidates held
  std::size_t working_set_bytes = 0;  // memory that they take

  // Adds the counts of a thread's part of the pass.
  void add_counts(const PassReport& part) {
    inferences += part.inferences;
    wrong += part.wrong;
    training_loss += part.training_loss;
    found += part.found;
    accepted += part.accepted;
    weights_age += part.weights_age;
  }
};

class Engine {
 public:
  explicit Engine(std::shared_ptr<const Task> task)
      : task_(std::move(task)), buffer_(std::make_shared<WeightBuffer>(task_->dimension())), weights_(*buffer_) {}
  virtual ~Engine() = default;

  mutable std::atomic<bool> busy{false};  // set by a caller for the time of a call, to find out about a second one

  [[nodiscard]] const Task& task() const { return *task_; }
  // The weights being trained. They may outlive the engine.
  [[nodiscard]] const std::shared_ptr<WeightBuffer>& weights() const { return buffer_; }

  // One pass, with every second of every thread accounted for.
  PassReport run_pass(StopRequest& stop);

  // Recomputes the weights from the duals and bounds the distance to the optimum; nothing for online
  // learners.
  virtual std::optional<Certificate> certify(int threads, StopRequest& stop) = 0;

  // True if those are what a model should have; otherwise final_weights() computes that from them.
  [[nodiscard]] virtual bool weights_are_final() const = 0;
  // `result` may be the weights themselves: at the end of training, when no pass follows, that saves a copy.
  virtual void final_weights(std::span<double> result) const = 0;

  // Everything that the next pass depends on.
  [[nodiscard]] virtual StateArrays export_state() const = 0;
  virtual void import_state(const StateArrays& state) = 0;
  // Says that the state is of another problem, with other features or losses: what follows from its duals was computed
  // anew, and averages over duals that are not there any more are not to be had.
  virtual void forget_averages() {}

 protected:
  // Engines time what a thread does; the rest of a thread's time is filled in by run_pass().
  virtual PassReport do_pass(StopRequest& stop) = 0;

  std::shared_ptr<const Task> task_;

 private:
  std::shared_ptr<WeightBuffer> buffer_;

 protected:
  WeightBuffer& weights_;
};

}  // namespace marginloom
