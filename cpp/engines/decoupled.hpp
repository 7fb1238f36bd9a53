// One thread learns, the others search, and neither waits for the other: DEMI-DCD (demi-dcd-2013, Algorithms 1 and 2).
//
// Each of p - 1 inference threads owns a part of the examples. It searches them with a snapshot of the weights, takes
// the newest one every `rho_inferences` searches, and hands what it finds over in small mails. The learning thread
// absorbs and improves what comes in; in between it goes over the blocks, and every `rho_updates` updates it publishes
// the weights.
//
// A pass ends when every example has been searched once and its candidates are in. The learner's inner passes are
// spread over it: after a share s of the searches it has gone over the blocks s * inner_passes times, as the serial
// engine does. While no mail comes it goes on, up to `patience` times as often, and then sleeps. Where inference is
// cheap the learner is the slower side; the inference threads then wait until it has given their mails back, so that
// what it gets is fresh.
//
// What a search finds depends on when it runs, so results differ from run to run. Their certificates say how good they
// are.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "core/dirty_blocks.hpp"
#include "core/team.hpp"
#include "engines/dual_engine.hpp"
#include "engines/mailbox.hpp"
#include "engines/snapshots.hpp"

namespace marginloom {

struct DecoupledOptions {
  int threads = 2;  // at least 2
  std::size_t rho_updates = 4000;
  std::size_t rho_inferences = 4;
  std::function<void()> at_handover = [] {};  // for tests: called where threads meet
};

class Decoupled final : public DualEngine {
 public:
  Decoupled(std::shared_ptr<const Task> task, std::shared_ptr<DualLearner> learner, std::vector<std::size_t> examples,
            VisitOptions visiting, DecoupledOptions options);

  std::optional<Certificate> certify(int threads, StopRequest& stop) override;
  void import_state(const StateArrays& state) override;

 private:
  struct Searcher {
    std::vector<std::size_t> examples;
    std::unique_ptr<Scratch> scratch;
  };
  // Where the learner is in its passes over the blocks.
  struct Sweep {
    std::vector<std::size_t> order;
    std::size_t next = 0;
    std::size_t visits = 0;
  };

  void search_pass(PassReport& report, StopRequest& stop) override;
  void inner_passes(PassReport&, StopRequest&) override {}  // they are part of the search pass

  void search_part(std::size_t number, Random random, ThreadTime& time);
  void learn(PassReport& report, StopRequest& stop);
  void take_in(const Mail& mail, PassReport& report);
  bool sweep_on(Sweep& sweep, double share);
  void publish_if_due();
  void share_out(std::vector<std::size_t> examples);

  DecoupledOptions parallel_;
  Team team_;
  std::vector<Searcher> searchers_;
  Mailbox mailbox_;
  Snapshots snapshots_;
  DirtyBlocks dirty_;
  bool outdated_ = true;  // the weights have changed without notice
  // Searches count as updates do when it comes to publishing: if nothing that they bring is of use any more, that is
  // because their weights are old.
  std::uint64_t searches_ = 0;
  std::uint64_t published_ = 0;          // updates and searches then
  std::atomic<std::uint64_t> clock_{0};  // updates so far, as inference threads see them
};

}  // namespace marginloom
