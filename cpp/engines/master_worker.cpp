#include "engines/master_worker.hpp"

#include <utility>

#include "core/stopwatch.hpp"
#include "engines/registered_engine.hpp"

namespace marginloom {

MasterWorker::MasterWorker(std::shared_ptr<const Task> task, std::shared_ptr<BlockLearner> learner,
                           std::vector<std::size_t> examples, OrderOptions options, int threads)
    : DualEngine(std::move(task), std::move(learner), std::move(examples), options),
      team_(threads),
      searching_(*task_, team_) {}

void MasterWorker::search_pass(PassReport& report, StopRequest& stop) {
  report.threads.resize(static_cast<std::size_t>(team_.size()));
  Stopwatch watch;
  const auto order = order_of_pass();
  report.threads.front().update += watch.lap();
  report.stopped = !search(order, report, stop);
  if (!report.stopped) learn(order, report, stop);
}

bool MasterWorker::search(std::span<const std::size_t> examples, PassReport& report, StopRequest& stop) {
  const auto options = [&](std::size_t j) { return learner_->search(examples[j]); };
  if (!world()) return searching_.search(examples, weights_.values(), options, found_, report.threads, stop);
  Stopwatch watch;
  searching_.ask(*world(), examples, weights_.values(), options, found_);
  report.threads.front().waiting += watch.lap();
  return !stop.stopped_now();
}

// Takes in what searches of these examples have found.
void MasterWorker::learn(std::span<const std::size_t> examples, PassReport& report, StopRequest& stop) {
  Stopwatch watch;
  const Access access = plain_access(stop);
  for (std::size_t j = 0; j < examples.size() && !report.stopped; ++j) {
    const Found found = worker_.find(examples[j], [&](auto& sink) { return found_.give(j, sink); });
    worker_.note(found);
    worker_.improve(found, access);
    report.stopped = j % 64 == 0 && stop.stopped();
  }
  report.threads.front().update += watch.lap();
}

namespace {

const EngineRegistration<BlockLearner> registered_master_worker(
    "master-worker", {},
    [](const BlockJob& job, NoOptions) {
      return std::make_shared<MasterWorker>(job.task, job.learner, job.examples(), job.order, job.threads);
    },
    nullptr, [](const BlockJob& job, NoOptions) { return std::make_shared<SearchPart>(job.task, job.threads); });

}  // namespace

}  // namespace marginloom
