// The learners that turn candidates into steps, as engines see them. They have no dual variables.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "core/candidate.hpp"
#include "core/parallel.hpp"
#include "core/random.hpp"
#include "core/state.hpp"
#include "core/task.hpp"

namespace marginloom {

class Averaging;

// Parameters that a learner has chosen by itself, by name.
using Chosen = std::map<std::string, double>;

// Turns the candidates of an example, or of a batch, into a step of the weights.
class OnlineLearner {
 public:
  virtual ~OnlineLearner() = default;

  [[nodiscard]] virtual const Task& task() const = 0;

  // Called before every pass over these examples, for what must be settled before the first step, such as the
  // size of steps. Does nothing once that is done. Returns false if it was stopped.
  [[nodiscard]] virtual bool prepare(std::span<const std::size_t>, Random&, StopRequest&) { return true; }

  [[nodiscard]] virtual Chosen chosen() const { return {}; }

  [[nodiscard]] virtual FindOptions search() const = 0;  // what it wants the task to find now

  // Moves w by the candidates that one round of inference found (none, if all predictions were right), and returns how
  // many of them it used. Every call is one tick of the clock by which weights are averaged.
  virtual std::size_t step(const CandidateBatch& candidates, std::span<double> w) = 0;

  // The weights to predict with, given the current ones: their average, if the learner averages.
  virtual void final_weights(std::span<const double> w, std::span<double> result) const = 0;

  // For engines whose threads learn apart and mix what they learnt: a learner with the same settings and no history,
  // and its average. Learners whose results cannot be mixed have neither.
  [[nodiscard]] virtual std::unique_ptr<OnlineLearner> fresh_copy() const { return nullptr; }
  [[nodiscard]] virtual Averaging* averaging() { return nullptr; }

  [[nodiscard]] virtual StateArrays export_state() const = 0;
  virtual void import_state(const StateArrays& state) = 0;
};

}  // namespace marginloom
