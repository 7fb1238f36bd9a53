// One thread makes all steps, one after the other as a serial engine does, and does nothing that touches the
// weights: the others compute scores for it, apply its steps and multiply inputs (score_pipeline.hpp). For learners
// that can improve a block from its scores, on tasks with scores whose weights have the product form.
//
// Where all weights are hot, as those of a few classes are, threads that share weights spend their time on moving cache
// lines; here no weight ever leaves the core that owns it. Every step uses the scores that all steps before it have led
// to, so it takes as many passes as with one thread, and the same seed and number of threads give the same bits.
#pragma once

#include <memory>
#include <vector>

#include "core/team.hpp"
#include "engines/dual_engine.hpp"
#include "engines/score_pipeline.hpp"

namespace marginloom {

class Pipelined final : public DualEngine {
 public:
  static constexpr int fewest_threads = 3;

  // `scorers`: threads that own weights; 0 for a number that suits `threads`. Throws std::invalid_argument if there are
  // too few threads, or if the task or the learner cannot be used.
  Pipelined(std::shared_ptr<const Task> task, std::shared_ptr<BlockLearner> learner, std::vector<std::size_t> examples,
            OrderOptions order, int threads, int scorers);

  // What it takes beside the weights, in bytes; none if it cannot use the task, or has too few threads.
  [[nodiscard]] static std::size_t buffer_bytes(const Task& task, int threads, int scorers);

 private:
  Team* team() override { return &team_; }
  void search_pass(PassReport& report, StopRequest& stop) override;
  void inner_passes(PassReport& report, StopRequest& stop) override;
  void prefetch(std::span<const std::size_t> coming) const;
  // A visit whose scores are known, and whose steps are noted and not made.
  Step visit(std::size_t i, const double* scores, ScoreSteps& steps);

  const ScoredTask& scored_;
  Team team_;
  ScorePipeline pipeline_;
};

}  // namespace marginloom
