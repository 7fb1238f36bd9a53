// A cascade of parts that solve with weights of their own: FastSSVM of fastssvm-2021 on threads with separate weights
// (Algorithm 3) and on many processes (section 4.1), for learners that solve blocks together.
//
// A pass searches its examples round by round, with fixed weights, as master-worker does. When the learner has blocks
// to solve, they are divided by example into parts:
//
//   1. every part solves its blocks from their duals, with the weights that these make (subproblem.hpp);
//   2. candidates whose dual is 0 are eliminated, and pairs of parts are merged with the duals that they have;
//   3. that is a layer; the layers end with one part, which the driver solves. All together they are one run.
//
// The paper splits constraints; parts split examples, for if the constraints of one example lay in two parts, their
// merger would break sum_y a_iy <= C_i. With feedback there are more runs. In these the support vectors that the run
// before has ended with go to all parts as context, what was eliminated is back, and support vectors of the run before
// are not eliminated, so that the last part of a run has those of the best one so far (condition 1 of Definition 1).
// Where the parts of the first layer change nothing, the solution is that of the whole working set.
//
// A run never ends below where it began: if the dual fell, the duals go back to the best point on their way. In a
// solution with some blocks only, the others are a constant part of the weights.
//
// With one thread a part, the result depends on the number of parts and not on who solves them.
#pragma once

#include <memory>
#include <vector>

#include "core/team.hpp"
#include "core/weight_marks.hpp"
#include "engines/dual_engine.hpp"
#include "engines/layers.hpp"
#include "engines/searches.hpp"

namespace marginloom {

struct CascadeOptions {
  int threads = 1;
  std::size_t parts = 0;     // 0: one per process of a world, solved by all of its threads; alone one per thread
  std::size_t feedback = 1;  // runs through the layers, at most
  std::size_t rounds = 100;  // of a pass, at least one
  Storage storage = Storage::local;
};

class Cascade final : public DualEngine {
 public:
  // Throws std::invalid_argument if this learner does not solve blocks together, or they cannot be sent so.
  Cascade(std::shared_ptr<const Task> task, std::shared_ptr<BlockLearner> learner, std::vector<std::size_t> examples,
          OrderOptions order, CascadeOptions options);

 private:
  // Examples first ... last - 1 of a solution. One that was not merged in the layer before is solved already.
  struct Piece {
    std::size_t first = 0;
    std::size_t last = 0;
    bool solved = false;
  };

  Team* team() override { return &team_; }
  [[nodiscard]] bool works_in_parts() const override { return true; }
  void search_pass(PassReport& report, StopRequest& stop) override;
  void inner_passes(PassReport&, StopRequest&) override {}  // they are part of the search pass

  // Takes in what searches of these examples have found, and solves where it is time; false if it was stopped.
  [[nodiscard]] bool learn(std::span<const std::size_t> examples, std::span<const std::size_t> all, PassReport& report,
                           StopRequest& stop);
  [[nodiscard]] bool solve(const Together& together, PassReport& report, StopRequest& stop);

  // What follows are steps of a solution.
  void leave_out();
  void begin_run(std::size_t run);
  [[nodiscard]] std::vector<Piece> pieces() const;
  enum class Ended { no, stable, stopped };
  [[nodiscard]] Ended run_layers(std::size_t run, PassReport& report, StopRequest& stop);
  [[nodiscard]] bool solve_layer(std::span<const Piece> pieces, PassReport& report, StopRequest& stop);
  void end_run();
  void settle(bool drops);
  [[nodiscard]] bool threads_share() const { return parallel_.parts == 0 && world() && team_.size() > 1; }

  CascadeOptions parallel_;
  Team team_;
  Searching searching_;
  Searches found_;
  std::unique_ptr<ChangedWeights> changed_;  // since the last question, if there is a world
  std::vector<std::size_t> waiting_;         // examples with new candidates since the last solution
  std::size_t candidates_ = 0;               // so many

  // Of a solution.
  std::vector<std::size_t> solving_;   // its examples, all of which have candidates
  Blocks blocks_;                      // theirs, as far as they are not eliminated; the learner's stay as they were
  Blocks support_;                     // context
  std::vector<std::size_t> supports_;  // its examples
  DualPoint point_;                    // where the run began
  std::vector<double> rest_;           // of the weights, if there is any
  Layer layer_;
  LayerSolver layers_;
  std::size_t updates_ = 0;  // in the last layer that was solved
  CascadeReport costs_;      // of this pass
};

}  // namespace marginloom
