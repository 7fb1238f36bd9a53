// What is predicted: the seam between structures and learners. A learner knows an example by its index and
// gets candidates back; it never sees x or y.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "core/candidate.hpp"
#include "core/implicit_differences.hpp"
#include "core/types.hpp"
#include "core/weight_writer.hpp"

namespace marginloom {

// What a task can do; learners and engines state what they need, and the two are compared before training.
struct Capabilities {
  bool gold = true;            // examples have their right output: the task can be trained on
  bool exact = true;           // inference returns a true maximum
  bool bounded = true;         // ... or at least an upper bound of it, which a certificate can use
  bool loss_augmented = true;  // `find` honours loss_scale != 0
  bool k_best = false;         // `predict` and `find` honour k > 1
  bool lists_outputs = false;  // outputs are few enough to try them all: finding many costs little more than one
  bool factored = false;       // it is a ScoredTask whose weights have the product form
  bool prefixes = false;       // a candidate may be a prefix of an output: see `find`
  bool needs_gil = false;      // inference calls Python
};

// Everything mutable in inference. One thread uses one scratch at a time.
class Scratch {
 public:
  virtual ~Scratch() = default;
};

// One predicted output.
struct Output {
  std::vector<std::uint8_t> bytes;  // the task's own encoding, understood by `candidate`
  double score = 0;                 // w.phi(x, y)
  double upper_bound = 0;           // >= the best score; equal to `score` of the first output if exact
};

struct FindOptions {
  int k = 1;              // how many candidates at most
  double loss_scale = 1;  // the search maximises w.phi + loss_scale * loss; 0 is plain prediction
  // Candidates violated by less are not built: violation = loss_scale * loss - w.difference.
  double min_violation = -std::numeric_limits<double>::infinity();
  // Others are changing the weights: what a search reads again and again is better copied first.
  bool in_motion = false;
};

class Task {
 public:
  virtual ~Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  [[nodiscard]] virtual std::size_t size() const = 0;       // examples
  [[nodiscard]] virtual std::size_t dimension() const = 0;  // weights
  // So many consecutive examples are what users see as one, with a slack each.
  [[nodiscard]] virtual std::size_t examples_per_row() const { return 1; }
  [[nodiscard]] virtual Capabilities capabilities() const = 0;
  [[nodiscard]] virtual std::unique_ptr<Scratch> make_scratch() const = 0;

  // Replaces `outputs` by the k best outputs of example i under w, best first (fewer if there are fewer).
  virtual void predict(std::size_t i, WeightView w, int k, Scratch& scratch, std::vector<Output>& outputs) const = 0;

  // Searches for the outputs that a learner should know of, gives those that differ from gold to the sink
  // (most violated first), and returns an upper bound of the largest violation of example i, never below 0.
  // If the task is exact the bound is attained.
  //
  // A task with the capability `prefixes` makes outputs step by step, by an inexact search. Its candidate is the first
  // j steps of what was found against the first j of gold, for the j that the task has chosen (core/prefix_update.hpp):
  // output, difference and loss belong to these steps, and the violation, -w.difference, is that of step j. There is
  // one if it is violated or the whole output is wrong. Such a task is not exact, not bounded, and takes loss_scale 0
  // and k 1 only; it returns the violation of its candidate.
  virtual double find(std::size_t i, WeightView w, const FindOptions& options, Scratch& scratch,
                      CandidateSink& sink) const = 0;

  // Rebuilds the candidate of example i from the bytes of an output. Returns false, and gives none, if they are
  // an output that the task does not allow, as after a warm start into other constraints: its dual counts no longer.
  // Throws std::invalid_argument if the bytes are not an output of that example: they may come from a file. With the
  // capability `prefixes` they may be a prefix, whose length says against how much of gold it stands.
  [[nodiscard]] virtual bool candidate(std::size_t i, ByteView output, Scratch& scratch, CandidateSink& sink) const = 0;

  // What stands for the differences of its candidates, if none of these carries one.
  [[nodiscard]] const ImplicitDifferences* implicit() const { return implicit_; }

  // Predicted cost of one inference, relative to the other examples.
  [[nodiscard]] virtual double work(std::size_t) const { return 1; }

  // Batched forms, for tasks that profit from seeing several examples at once; by default they loop.
  // `outputs[j]` receives the outputs of examples[j]; `bounds[j]` what find() returns for it.
  virtual void predict_batch(std::span<const std::size_t> examples, WeightView w, int k, Scratch& scratch,
                             std::span<std::vector<Output>> outputs) const;
  virtual void find_batch(std::span<const std::size_t> examples, WeightView w, std::span<const FindOptions> options,
                          Scratch& scratch, CandidateSink& sink, std::span<double> bounds) const;

 protected:
  explicit Task(const ImplicitDifferences* implicit = nullptr) : implicit_(implicit) {}

 private:
  const ImplicitDifferences* implicit_;  // the task itself, usually
};

// The examples of these rows, which are what users see as examples (Task::examples_per_row).
[[nodiscard]] std::vector<std::size_t> examples_of(const Task& task, std::vector<std::size_t> rows);

// The implicit differences of a task that must have some.
[[nodiscard]] inline const ImplicitDifferences& implicit_differences(const Task& task) {
  const ImplicitDifferences* const result = task.implicit();
  if (!result) throw std::logic_error("this task stores the differences of its candidates");
  return *result;
}

// w.d of the difference of a candidate, stored or implicit.
[[nodiscard]] inline double dot_difference(const Task& task, const Candidate& candidate, WeightView w) {
  double sum = 0;
  if (candidate.implicit) {
    implicit_differences(task).gather(candidate.example, std::span(&candidate.output, 1), w, std::span(&sum, 1));
  } else {
    for (const Entry& entry : candidate.difference) sum += w[entry.index] * entry.value;
  }
  return sum;
}

// w += step * d, stored or implicit.
inline void add_difference(const Task& task, const Candidate& candidate, double step, const WeightWriter& w) {
  if (candidate.implicit) {
    implicit_differences(task).scatter(candidate.example, std::span(&candidate.output, 1), std::span(&step, 1), w);
  } else {
    for (const Entry& entry : candidate.difference) w.add(entry.index, step * entry.value);
  }
}

}  // namespace marginloom
