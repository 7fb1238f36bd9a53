// One thread learns, the others search, and neither waits for the other: DEMI-DCD (demi-dcd-2013, Algorithms 1 and 2).
//
// Each of p - 1 inference threads takes examples, which with their blocks are its own until the end of the pass. It
// searches them with a snapshot of the weights, takes the newest one every `rho_inferences` searches, and sends copies
// of their candidates, a few examples at a time. The learning thread owns the weights: it alone makes steps, those of
// the candidates that come in, and publishes them every `rho_updates` updates. What it made of the duals goes back with
// the batch. Nobody touches what another thread works on, and the weights stay in the learner's cache.
//
// If the learner is the slower side, the inference threads wait until it has given their batches back, so that what it
// gets is fresh. While batches wait for it, they try the steps first and send those that gain `least_gain` times the
// mean or more. While none does, they also send blocks that they have searched before, up to the learner's inner passes
// a search; and the learner, when it has nothing else to do, takes an example and searches it itself.
//
// Equation 9 removes a variable that is 0 before its update if its gradient is below delta. Here candidates are updated
// whatever their gradient, and those whose dual is 0 afterwards are dropped, also new ones whose step was not worth
// sending; delta only says what is absorbed.
//
// A pass ends when every example has been searched once and what was found has come in.
//
// With several learners, each gets the batches of some of the inference threads. They step on the same weights by
// atomic additions, under a safeguard, and everybody reads the weights as they are: there are no snapshots, since
// nobody alone knows what has changed.
//
// What a search finds depends on when it runs, so results differ from run to run. Their certificates say how good they
// are.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/stopwatch.hpp"
#include "core/team.hpp"
#include "engines/block_queue.hpp"
#include "engines/dual_engine.hpp"
#include "engines/safeguard.hpp"
#include "engines/snapshots.hpp"

namespace marginloom {

struct DecoupledOptions {
  int threads = 2;   // at least 2
  int learners = 1;  // of the threads; at least one other searches
  std::size_t rho_updates = 250;
  std::size_t rho_inferences = 4;
  double least_gain = 0.1;                   // share of the mean gain from which a step is sent to a busy learner
  std::function<void()> at_meeting = [] {};  // for tests: called where threads meet
};

class Decoupled final : public DualEngine {
 public:
  Decoupled(std::shared_ptr<const Task> task, std::shared_ptr<BlockLearner> learner, std::vector<std::size_t> examples,
            OrderOptions order, DecoupledOptions options);

  void import_state(const StateArrays& state) override;

 private:
  struct Searcher {
    Worker worker;
    std::vector<std::size_t> searched = {};  // in this pass
    double mean_gain = 0;                    // of the last ten thousand steps or so that were tried
    std::size_t next = 0;                    // among those searched before, to be sent again
    std::vector<double> duals = {};          // of a block that comes back
  };
  struct alignas(64) LearningThread {
    LearningThread(Worker&& worker, std::size_t number, std::size_t senders, std::size_t batches_each)
        : worker(std::move(worker)), own(number), queue(senders, batches_each) {}

    Worker worker;
    BlockBatch own;  // what it has searched itself
    BlockQueue queue;
    std::vector<const BlockBatch::Item*> coming = {};  // that it will improve
  };

  Team* team() override { return &team_; }
  std::optional<Certificate> do_certify(int threads, StopRequest& stop) override;
  void search_pass(PassReport& report, StopRequest& stop) override;
  void inner_passes(PassReport&, StopRequest&) override {}  // they are part of the search pass

  void recompute_weights();
  double check(double squared_norm, bool whole_pass) override;
  void search_some(std::size_t number, ThreadTime& time);
  [[nodiscard]] std::optional<std::size_t> next_example();
  void search(std::size_t i, WeightView w, double least_gain, std::size_t number, BlockBatch::Item& item);
  void send_again(WeightView w, Searcher& searcher, BlockBatch& batch);
  // Copies what is worth improving of the block of the item's example; false if nothing is.
  bool copy_block(WeightView w, double least_gain, Searcher& searcher, BlockBatch::Item& item);
  void take_back(BlockBatch& batch);
  void begin_learning();
  void learn(LearningThread& learning, ThreadTime& time, StopRequest& stop);
  bool search_one(LearningThread& learning, ThreadTime& time, Stopwatch& watch);
  void take_in(std::span<BlockBatch::Item> items, std::span<const BlockBatch::Item> next, LearningThread& learning);
  void prefetch(std::span<const BlockBatch::Item* const> coming);
  void improve(BlockBatch::Item& item, Worker& worker);
  void publish_if_due();
  void close();
  [[nodiscard]] bool alone() const { return learning_.size() == 1; }

  DecoupledOptions parallel_;
  Team team_;
  std::deque<Searcher> searchers_;  // one per thread: learners search too when they have nothing else to do
  std::vector<std::size_t> order_;  // of the examples in this pass
  std::atomic<std::size_t> taken_{0};
  std::atomic<std::size_t> searched_{0};  // in this pass, and come in
  std::atomic<bool> stopped_{false};
  std::deque<LearningThread> learning_;
  std::unique_ptr<Safeguard> safeguard_;  // if several threads learn
  Snapshots snapshots_;                   // if only one does
  std::vector<std::uint8_t> away_;        // examples whose blocks have been sent; each is its owner's
  bool outdated_ = true;                  // the weights have changed without notice
  // Searches count as updates do when it comes to publishing: if nothing that they bring is of use any more, that is
  // because their weights are old.
  std::uint64_t published_ = 0;          // updates and searches of this pass then
  std::atomic<std::uint64_t> clock_{0};  // updates so far, as inference threads see them
};

}  // namespace marginloom
