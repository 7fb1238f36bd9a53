// What a pass of training has done, and how its threads spent their time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace marginloom {

// Seconds that one thread spent on each kind of work; together they are the time that the pass took.
struct ThreadTime {
  double inference = 0;
  double update = 0;
  double publishing = 0;  // of weights, to other threads
  double waiting = 0;     // for other threads

  [[nodiscard]] double sum() const { return inference + update + publishing + waiting; }
  void add(const ThreadTime& more) {
    inference += more.inference;
    update += more.update;
    publishing += more.publishing;
    waiting += more.waiting;
  }
};

// What the solutions of a cascade took in a pass.
struct CascadeReport {
  std::size_t solutions = 0;  // of blocks together
  std::size_t runs = 0;       // through the layers
  std::size_t layers = 0;
  std::size_t candidates = 0;       // that runs began with, in all of them together
  std::size_t support_vectors = 0;  // that they ended with
  std::uint64_t sent = 0;           // bytes of blocks and duals to the parts of a world, and from them
  std::uint64_t received = 0;
  double computing = 0;  // seconds: of the part of each layer that took longest
  double last = 0;       // in last layers, which one process solves
  double seconds = 0;    // of all layers from beginning to end
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
  std::optional<CascadeReport> cascade;

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

}  // namespace marginloom
