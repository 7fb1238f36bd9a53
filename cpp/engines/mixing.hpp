// Parameter mixing, once or again and again (parameter-mixing-2010, Figures 2 and 3): shards of the examples are learnt
// apart, each by one thread, and the weights are mixed.
//
//   round    every shard s starts from w and trains `inner_epochs` passes of its own, one in every pass of the engine
//   mix      w_s = w + delta_s,   w <- w + sum_s mu_s delta_s
//            mu_s = 1 / S, or k_s / sum k, where k_s counts the wrong examples that shard s met in the round
//   average  over all rounds, shards and steps. In the form of averaging.hpp, (T w - u) / T, shard s has T_s and u_s of
//            its own; its steps add up to T_s (w + delta_s) - u_s. So with T' = T + sum_s T_s and M = sum_s mu_s
//            delta_s u <- u + T' M - sum_s (T_s delta_s - u_s),   T <- T'
//
// `inner_epochs` = 0 never ends the round: parameter mixing, Figure 2. There the average is what mixing the shards'
// own averages gives, sum_s mu_s (T_s w_s - u_s) / T_s. Between passes the weights to predict with are mixed as if the
// round ended there. A shard without a wrong example in a pass would not change in the rest of the round either: it is
// not searched again, and its clock goes on.
//
// What a shard has learnt are two deltas, delta_s and u_s (shard_training.hpp), so mixing costs what has changed. All
// sums are made in the order of the shards, so any number of threads, or of parts of a world, gives the same bits.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/team.hpp"
#include "core/weight_marks.hpp"
#include "core/zeroed_array.hpp"
#include "engines/online_engine.hpp"
#include "engines/pass_order.hpp"
#include "engines/shard_training.hpp"
#include "engines/shards.hpp"

namespace marginloom {

enum class MixingShares { uniform, errors };  // mu_s

struct MixingOptions {
  OrderOptions order = {};  // shuffling is within a shard
  std::size_t shards = 1;   // into which Mixing's caller cuts the examples
  Sharding sharding = Sharding::shuffled;
  MixingShares mixing = MixingShares::uniform;
  std::size_t inner_epochs = 1;
  int threads = 1;
};

class Mixing final : public OnlineEngine {
 public:
  // Throws std::invalid_argument if the learner cannot be mixed. Threads beyond the number of shards are not started.
  Mixing(std::shared_ptr<const Task> task, std::shared_ptr<OnlineLearner> learner, Shards shards,
         MixingOptions options);

  void final_weights(std::span<double> result) const override;
  StateArrays export_state() const override;
  void import_state(const StateArrays& state) override;

 private:
  [[nodiscard]] bool works_in_parts() const override { return true; }
  void search_pass(PassReport& report, StopRequest& stop) override;
  // Here or in the parts of a world; false if it was stopped.
  [[nodiscard]] bool train(std::span<ShardTurn> turns, std::span<ThreadTime> threads, StopRequest& stop);

  void on_all_threads(const std::function<void(std::size_t)>& work, PassReport& report);
  void in_parts(const std::function<void(std::size_t, std::size_t)>& work, PassReport& report);
  [[nodiscard]] std::vector<double> shares() const;
  [[nodiscard]] std::uint64_t ticks() const;
  void mix(PassReport& report);
  void end_round(PassReport& report);
  void start_round(PassReport& report);
  void mix_averages(std::span<double> result) const;
  void average_so_far(double total, std::span<double> result) const;

  Shards shards_;
  std::vector<ShardProgress> progress_;  // of each, in this round
  MixingOptions options_;
  std::size_t epoch_ = 0;   // passes done in this round
  ZeroedArray base_;        // the weights at the start of the round
  TouchedWeights changed_;  // in this round, by any shard
  Team team_;
  ShardTraining training_;
};

}  // namespace marginloom
