// The half of mixing that learns: shards of the examples, each from given weights and by one thread at a time.
//
// What a shard has learnt in a round are two deltas, delta_s and u_s of mixing.hpp. Whoever goes on with it starts from
// w + delta_s: the next pass, after a restart, or another process. Threads take the next shard that is left, and any
// number of them gives the same bits.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "core/team.hpp"
#include "core/weight_marks.hpp"
#include "core/zeroed_array.hpp"
#include "engines/part.hpp"
#include "engines/pass_order.hpp"
#include "engines/shards.hpp"
#include "learners/online_learner.hpp"

namespace marginloom {

// A shard in a pass: what it goes on from, which is also what came of it, and the counts of the pass.
struct ShardTurn {
  std::size_t shard = 0;
  Random random{0};
  ShardProgress* progress = nullptr;
  PassReport report = {};
};

using Shards = std::vector<std::vector<std::size_t>>;

class ShardTraining {
 public:
  // The team must outlive it. Throws std::invalid_argument if the learner, whose settings it takes, cannot be mixed.
  ShardTraining(std::shared_ptr<const Task> task, OnlineLearner& settings, Team& team);

  // Trains a pass over each of these shards, all of which started the round from the weights `base`; false if it was
  // stopped. What was learnt until then counts. Adds the seconds of each thread.
  [[nodiscard]] bool train(const Shards& shards, std::span<ShardTurn> turns, WeightView base, const OrderOptions& order,
                           std::span<ThreadTime> threads, StopRequest& stop);

  // Tells how `base` has changed since the last pass: in the weights that are marked, on the thread of that number; or
  // in any.
  void follow(std::size_t thread, WeightView base, const TouchedWeights& changed);
  void forget_base();

 private:
  // A thread's own learner; its weights are those of the round's start, its average is empty, between two shards.
  struct Worker {
    Worker(const Task& task, OnlineLearner& learner);

    ZeroedArray weights;
    std::unique_ptr<OnlineLearner> learner;
    std::unique_ptr<Scratch> scratch;
    CandidateBatch found;
    TouchedWeights touched;  // since then
    bool has_base = true;    // also at the beginning, when all weights are 0
  };
  struct Pass;

  void work(Worker& worker, Pass& pass, StopRequest* stop, ThreadTime& time) const;
  void train(Worker& worker, ShardTurn& turn, Pass& pass, StopRequest* stop, ThreadTime& time) const;
  void load(Worker& worker, const ShardProgress& progress) const;
  static void store(Worker& worker, WeightView base, ShardProgress& progress);
  static void restore(Worker& worker, WeightView base);

  std::shared_ptr<const Task> task_;
  Team& team_;
  std::vector<Worker> workers_;
};

// Lets the parts of a world train instead, each a share of about the same work, to the same bits. Throws Interrupted if
// it was stopped, and then no shard has learnt anything.
void ask_to_train(World& world, const Task& task, const Shards& shards, std::span<ShardTurn> turns, WeightView base,
                  bool averaged);

// Answers the question `train`.
class ShardPart final : public Part {
 public:
  ShardPart(std::shared_ptr<const Task> task, OnlineLearner& settings, Shards shards, OrderOptions order, int threads);

 private:
  bool answer_engine(const std::string& question, const ArrayViews& common, const ArrayViews& own, StateArrays& answer,
                     StopRequest& stop) override;

  Shards shards_;
  OrderOptions order_;
  bool averaged_;
  Team team_;
  ShardTraining training_;
};

}  // namespace marginloom
