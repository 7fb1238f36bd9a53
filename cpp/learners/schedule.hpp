// When blocks are visited: what a dual learner asks of whoever drives it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "learners/sweep_limits.hpp"

namespace marginloom {

// When the blocks are visited between two passes of inference, which an engine follows or refuses.
struct Schedule {
  int inner_passes = 0;  // over all blocks
  // Blocks whose last gain was below this share of the mean gain may be left out of the remaining inner passes of an
  // iteration. A pass of inference visits every block, so this changes the time and not the optimum.
  double shrinking = 0;
  // How many searches in a row an example may skip while it has no candidates and the ones before found nothing. A
  // certificate searches every example.
  int most_skipped = 0;
  bool averaged = false;       // the model has the mean of the weights over the inner passes of the last iteration
  bool together = false;       // blocks are not visited after their search, but when due() says so
  bool solves_copies = false;  // solve() improves a copy of a block as well, given what was gathered for it

  // Whether a copy of one block can be improved without the others.
  [[nodiscard]] bool solves_single_copies() const { return solves_copies && !together; }
};

// What a learner has to say at the end of a pass.
struct PassEnd {
  std::size_t updates = 0;         // of variables that do not belong to examples
  std::optional<double> gap = {};  // its own estimate of primal - dual, if it is better than the slacks as visited
};

// What a thread of an engine has searched.
struct Searched {
  std::span<const std::size_t> examples = {};  // in this pass; nobody else visits their blocks
  std::span<const std::size_t> waiting = {};   // those with new candidates since blocks were last solved together
  std::size_t candidates = 0;                  // so many
  bool at_end = false;                         // of the thread's part of the pass
  int threads = 1;                             // that do so at once
};

// Blocks that are to be solved together, and until when.
struct Together {
  std::span<const std::size_t> examples;
  double tolerance = 0;       // until no block has a larger residual
  bool whole_sweeps = false;  // also blocks that are solved are visited in a sweep
  bool drops = true;          // candidates whose dual is 0 in the end
  SweepLimits limits = {};    // or until it is enough
};

}  // namespace marginloom
