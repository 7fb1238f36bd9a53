// What is predicted: the seam between structures and learners. A learner knows an example by its index and
// gets candidates back; it never sees x or y.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/candidate.hpp"
#include "core/types.hpp"
#include "core/weight_policy.hpp"

namespace marginloom {

// What a task can do; learners and engines state what they need, and the two are compared before training.
struct Capabilities {
  bool gold = true;            // examples have their right output: the task can be trained on
  bool exact = true;           // inference returns a true maximum
  bool bounded = true;         // ... or at least an upper bound of it, which a certificate can use
  bool loss_augmented = true;  // `find` honours loss_scale != 0
  bool k_best = false;         // `predict` and `find` honour k > 1
  bool implicit = false;       // candidates carry no stored difference; use dot() and add() below
  bool lists_outputs = false;  // `find` honours `every`: outputs are few enough to try them all
  bool factored = false;       // it is a FactoredTask too
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
  bool every =
      false;  // all candidates that are violated by min_violation, whatever k; for tasks that list their outputs
};

// Products d.d' of the differences of one example where they are all alike: `own` of one with itself, `shared` of any
// two. The quadratic programme of such a block has a solution in closed form.
struct UniformProducts {
  double own = 0;
  double shared = 0;
};

class Task {
 public:
  virtual ~Task() = default;

  [[nodiscard]] virtual std::size_t size() const = 0;       // examples
  [[nodiscard]] virtual std::size_t dimension() const = 0;  // weights
  [[nodiscard]] virtual Capabilities capabilities() const = 0;
  [[nodiscard]] virtual std::unique_ptr<Scratch> make_scratch() const = 0;

  // Replaces `outputs` by the k best outputs of example i under w, best first (fewer if there are fewer).
  virtual void predict(std::size_t i, WeightView w, int k, Scratch& scratch, std::vector<Output>& outputs) const = 0;

  // Searches for the outputs that a learner should know of, hands those that differ from gold to the sink
  // (most violated first), and returns an upper bound of the largest violation of example i, never below 0.
  // If the task is exact the bound is attained.
  virtual double find(std::size_t i, WeightView w, const FindOptions& options, Scratch& scratch,
                      CandidateSink& sink) const = 0;

  // Rebuilds the candidate of example i from the bytes of an output. Returns false, and hands over nothing, if they are
  // an output that the task does not allow, as after a warm start into other constraints: its dual counts no longer.
  // Throws std::invalid_argument if the bytes are not an output of that example: they may come from a file.
  [[nodiscard]] virtual bool candidate(std::size_t i, ByteView output, Scratch& scratch, CandidateSink& sink) const = 0;

  // Tells that example i is looked at soon, so that its memory can be fetched meanwhile.
  virtual void prefetch(std::size_t) const {}

  // Predicted cost of one inference, relative to the other examples.
  [[nodiscard]] virtual double work(std::size_t) const { return 1; }

  // For tasks whose differences are implicit: w.d, and w += step * d, for d = phi(gold) - phi(output).
  // ImplicitTask (implicit_task.hpp) writes the versions from one template.
  [[nodiscard]] virtual double dot(std::size_t i, ByteView output, const PlainWeights& w) const;
  [[nodiscard]] virtual double dot(std::size_t i, ByteView output, const TrackedWeights& w) const;
  [[nodiscard]] virtual double dot(std::size_t i, ByteView output, const AtomicWeights& w) const;
  [[nodiscard]] virtual double dot(std::size_t i, ByteView output, const PrivateWeights& w) const;
  virtual void add(std::size_t i, ByteView output, double step, const PlainWeights& w) const;
  virtual void add(std::size_t i, ByteView output, double step, const TrackedWeights& w) const;
  virtual void add(std::size_t i, ByteView output, double step, const AtomicWeights& w) const;
  virtual void add(std::size_t i, ByteView output, double step, const PrivateWeights& w) const;

  // The same for several outputs of one example, for tasks that can share work between them; by default they loop.
  virtual void dot_all(std::size_t i, std::span<const ByteView> outputs, const PlainWeights& w,
                       std::span<double> dots) const;
  virtual void dot_all(std::size_t i, std::span<const ByteView> outputs, const TrackedWeights& w,
                       std::span<double> dots) const;
  virtual void dot_all(std::size_t i, std::span<const ByteView> outputs, const AtomicWeights& w,
                       std::span<double> dots) const;
  virtual void dot_all(std::size_t i, std::span<const ByteView> outputs, const PrivateWeights& w,
                       std::span<double> dots) const;
  virtual void add_all(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
                       const PlainWeights& w) const;
  virtual void add_all(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
                       const TrackedWeights& w) const;
  virtual void add_all(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
                       const AtomicWeights& w) const;
  virtual void add_all(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
                       const PrivateWeights& w) const;

  // What a task knows of the products of its differences without computing them. products() fills the matrix of d.d'
  // of these outputs, row by row, or returns false if it has no faster way than the differences themselves.
  [[nodiscard]] virtual std::optional<UniformProducts> uniform_products(std::size_t) const { return std::nullopt; }
  [[nodiscard]] virtual bool products(std::size_t, std::span<const ByteView>, std::span<double>) const { return false; }

  // Batched forms, for tasks that profit from seeing several examples at once; by default they loop.
  // `outputs[j]` receives the outputs of examples[j]; `bounds[j]` what find() returns for it.
  virtual void predict_batch(std::span<const std::size_t> examples, WeightView w, int k, Scratch& scratch,
                             std::span<std::vector<Output>> outputs) const;
  virtual void find_batch(std::span<const std::size_t> examples, WeightView w, std::span<const FindOptions> options,
                          Scratch& scratch, CandidateSink& sink, std::span<double> bounds) const;
};

// w.d, and w += step * d, of an implicit difference under any policy: tasks need not know of logs.
template <class Weights>
[[nodiscard]] double dot_implicit(const Task& task, std::size_t i, ByteView output, const Weights& w) {
  return task.dot(i, output, w);
}
[[nodiscard]] inline double dot_implicit(const Task& task, std::size_t i, ByteView output, const LoggedWeights& w) {
  return task.dot(i, output, w.plain());
}
template <class Weights>
void add_implicit(const Task& task, std::size_t i, ByteView output, double step, const Weights& w) {
  task.add(i, output, step, w);
}
inline void add_implicit(const Task& task, std::size_t i, ByteView output, double step, const LoggedWeights& w) {
  task.add(i, output, step, w.plain());
  w.log->note(i, std::span(&output, 1), std::span(&step, 1));
}

// The same for several outputs.
template <class Weights>
void dot_all_implicit(const Task& task, std::size_t i, std::span<const ByteView> outputs, const Weights& w,
                      std::span<double> dots) {
  task.dot_all(i, outputs, w, dots);
}
inline void dot_all_implicit(const Task& task, std::size_t i, std::span<const ByteView> outputs, const LoggedWeights& w,
                             std::span<double> dots) {
  task.dot_all(i, outputs, w.plain(), dots);
}
template <class Weights>
void add_all_implicit(const Task& task, std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
                      const Weights& w) {
  task.add_all(i, outputs, steps, w);
}
inline void add_all_implicit(const Task& task, std::size_t i, std::span<const ByteView> outputs,
                             std::span<const double> steps, const LoggedWeights& w) {
  task.add_all(i, outputs, steps, w.plain());
  w.log->note(i, outputs, steps);
}

// w.difference, stored or implicit.
template <class Weights>
[[nodiscard]] double dot_difference(const Task& task, const Candidate& candidate, const Weights& w) {
  if (candidate.implicit) return dot_implicit(task, candidate.example, candidate.output, w);
  return project(candidate.difference, w).dot;
}

// w += step * difference, stored or implicit.
template <class Weights>
void add_difference(const Task& task, const Candidate& candidate, double step, const Weights& w) {
  if (candidate.implicit) {
    add_implicit(task, candidate.example, candidate.output, step, w);
  } else {
    add_scaled(candidate.difference, step, w);
  }
}

}  // namespace marginloom
