// Batches whose examples are searched in parallel with the weights fixed, then one step (minibatch-2013, Algorithm 5).
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "core/team.hpp"
#include "engines/online_engine.hpp"
#include "engines/pass_order.hpp"

namespace marginloom {

struct MinibatchOptions {
  OrderOptions order = {};
  std::size_t batch_size = 16;
  int threads = 1;
};

// Every pass shuffles the examples as the serial engine does and cuts them into batches, of which the last may be
// smaller. The learner gets the candidates of a batch in the order of its examples, whichever thread found them, so
// that any number of threads gives the same bits, and batches of one those of the serial engine. Every batch is one
// tick of the learner's average, also one without a candidate.
class Minibatch final : public OnlineEngine {
 public:
  // Requires a batch size of 1 at least. Threads beyond the batch size are not started.
  Minibatch(std::shared_ptr<const Task> task, std::shared_ptr<OnlineLearner> learner, std::vector<std::size_t> examples,
            MinibatchOptions options);

 private:
  // What the search of one example of the batch brought. Threads write to neighbours at the same time.
  struct alignas(64) Search {
    CandidateBatch found;
    double violation = 0;
  };

  void search_pass(PassReport& report, StopRequest& stop) override;
  void plan(std::span<const std::size_t> batch);
  void search(int thread, std::span<const std::size_t> batch, const FindOptions& options, ThreadTime& time);
  void gather(std::size_t batch_size, const FindOptions& options, PassReport& report);

  std::vector<std::size_t> examples_;
  MinibatchOptions options_;
  std::vector<std::unique_ptr<Scratch>> scratches_;  // one per thread
  std::vector<Search> searches_;                     // one per position in the batch
  std::vector<double> works_;
  std::vector<std::size_t> plan_;  // positions in the order in which they are searched
  CandidateBatch candidates_;      // of the whole batch
  std::atomic<std::size_t> next_{0};
  Team team_;
};

}  // namespace marginloom
