#include "engines/master_worker.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "core/stopwatch.hpp"
#include "engines/registered_engine.hpp"

namespace marginloom {

MasterWorker::MasterWorker(std::shared_ptr<const Task> task, std::shared_ptr<BlockLearner> learner,
                           std::vector<std::size_t> examples, OrderOptions options, int threads)
    : DualEngine(std::move(task), std::move(learner), std::move(examples), options),
      team_(threads),
      scratch_(static_cast<std::size_t>(team_.size())),
      found_(scratch_.size()) {
  for (auto& scratch : scratch_) scratch = task_->make_scratch();
}

void MasterWorker::search_pass(PassReport& report, StopRequest& stop) {
  report.threads.resize(scratch_.size());
  Stopwatch watch;
  const auto order = order_of_pass();
  report.threads.front().update += watch.lap();
  if (!search_all(order, report, stop)) {
    report.stopped = true;
    return;
  }
  watch.lap();  // search_all() has counted it
  const Access access = plain_access(stop);
  for (std::size_t j = 0; j < order.size() && !report.stopped; ++j) {
    const Search& search = searches_[j];
    const CandidateBatch& batch = found_[static_cast<std::size_t>(search.thread)];
    const Found found = worker_.find(order[j], [&](auto& sink) {
      for (std::size_t k = 0; k < search.count; ++k) sink.accept(batch[search.first + k]);
      return search.slack;
    });
    worker_.note(found);
    worker_.improve(found, access);
    report.stopped = j % 64 == 0 && stop.stopped();
  }
  report.threads.front().update += watch.lap();
}

// Searches the examples on all threads; false if it was stopped.
bool MasterWorker::search_all(std::span<const std::size_t> order, PassReport& report, StopRequest& stop) {
  constexpr std::size_t chunk = 4;
  searches_.resize(order.size());
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stopped{false};
  team_.run([&](int thread) {
    const auto t = static_cast<std::size_t>(thread);
    CandidateBatch& found = found_[t];
    found.clear();
    Stopwatch watch;
    while (!stopped.load(std::memory_order_relaxed) && !told_to_stop()) {
      const std::size_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
      if (begin >= order.size()) break;
      if (thread == 0 && stop.stopped()) stopped = true;
      for (std::size_t j = begin; j < std::min(begin + chunk, order.size()); ++j) {
        Search& search = searches_[j];
        search.thread = thread;
        search.first = found.size();
        try {
          search.slack = task_->find(order[j], weights_.values(), learner_->search(order[j]), *scratch_[t], found);
        } catch (...) {
          stopped = true;  // nothing that others find is used
          throw;
        }
        search.count = found.size() - search.first;
      }
    }
    report.threads[t].inference = watch.lap();
  });
  return !stopped && !told_to_stop();
}

namespace {

const EngineRegistration<BlockLearner> registered_master_worker("master-worker", [](const BlockJob& job, NoOptions) {
  return std::make_shared<MasterWorker>(job.task, job.learner, job.examples(), job.order, job.threads);
});

}  // namespace

}  // namespace marginloom
