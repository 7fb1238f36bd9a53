#include "engines/serial.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "core/stopwatch.hpp"
#include "engines/registered_engine.hpp"

namespace marginloom {
SerialOnline::SerialOnline(std::shared_ptr<const Task> task, std::shared_ptr<OnlineLearner> learner,
                           std::vector<std::size_t> examples, OrderOptions options)
    : OnlineEngine(std::move(task), std::move(learner), options.seed),
      examples_(std::move(examples)),
      options_(options),
      scratch_(task_->make_scratch()) {}

void SerialOnline::search_pass(PassReport& report, StopRequest& stop) {
  CandidateBatch found;
  ThreadTime& time = report.threads.emplace_back();
  Stopwatch watch;
  if (!learner_->prepare(examples_, random_, stop)) {
    report.stopped = true;
    return;
  }
  time.inference += watch.lap();
  for (const std::size_t i : pass_order(examples_, options_, random_)) {
    if (stop.stopped()) {
      report.stopped = true;
      break;
    }
    found.clear();
    const FindOptions options = learner_->search();
    const double violation = task_->find(i, weights_.values(), options, *scratch_, found);
    count_search(options, violation, found, report);
    time.inference += watch.lap();
    report.updates += learner_->step(found, weights_.values());
    time.update += watch.lap();
  }
}

SerialDual::SerialDual(std::shared_ptr<const Task> task, std::shared_ptr<BlockLearner> learner,
                       std::vector<std::size_t> examples, OrderOptions options)
    : DualEngine(std::move(task), std::move(learner), std::move(examples), options) {
  worker_.prepare();
}

void SerialDual::search_pass(PassReport& report, StopRequest& stop) {
  const Access access = plain_access(stop);
  const auto order = order_of_pass();
  for (auto coming = std::span(order); !coming.empty(); coming = coming.subspan(1)) {
    if (stop.stopped()) {
      report.stopped = true;
      break;
    }
    worker_.search_and_improve(coming, access);
  }
}

namespace {

const EngineRegistration<OnlineLearner> registered_serial_online("serial", [](const OnlineJob& job, NoOptions) {
  return std::make_shared<SerialOnline>(job.task, job.learner, job.examples(), job.order);
});
const EngineRegistration<BlockLearner> registered_serial_dual("serial", [](const BlockJob& job, NoOptions) {
  return std::make_shared<SerialDual>(job.task, job.learner, job.examples(), job.order);
});

}  // namespace

}  // namespace marginloom
