// Who computes what, where and when: an engine drives a learner over the examples, one pass at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/certificate.hpp"
#include "core/parallel.hpp"
#include "core/pass_report.hpp"
#include "core/state.hpp"
#include "core/task.hpp"
#include "core/weight_buffer.hpp"
#include "core/world.hpp"

namespace marginloom {

class Engine {
 public:
  explicit Engine(std::shared_ptr<const Task> task)
      : task_(std::move(task)), buffer_(std::make_shared<WeightBuffer>(task_->dimension())), weights_(*buffer_) {}
  virtual ~Engine() = default;

  mutable std::atomic<bool> busy{false};  // set by a caller for the time of a call, to find out about a second one

  [[nodiscard]] const Task& task() const { return *task_; }
  // The weights being trained. They may outlive the engine.
  [[nodiscard]] const std::shared_ptr<WeightBuffer>& weights() const { return buffer_; }

  // One pass, with every second of every thread accounted for. With a world its parts do their half of it, to the same
  // bits; std::invalid_argument if the engine does not work in parts.
  PassReport run_pass(StopRequest& stop, World* world = nullptr);

  // Recomputes the weights from the duals and bounds the distance to the optimum; nothing for online learners. With a
  // world its parts search the examples.
  std::optional<Certificate> certify(int threads, StopRequest& stop, World* world = nullptr);

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
  virtual std::optional<Certificate> do_certify(int threads, StopRequest& stop) = 0;

  // Whether passes may have a world.
  [[nodiscard]] virtual bool works_in_parts() const { return false; }
  // That of this pass or certificate; null: this process does all of it.
  [[nodiscard]] World* world() const { return world_; }

  std::shared_ptr<const Task> task_;

 private:
  std::shared_ptr<WeightBuffer> buffer_;
  World* world_ = nullptr;

 protected:
  WeightBuffer& weights_;
};

}  // namespace marginloom
