#include "engines/serial.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/stopwatch.hpp"

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

SerialDual::SerialDual(std::shared_ptr<const Task> task, std::shared_ptr<DualLearner> learner,
                       std::vector<std::size_t> examples, OrderOptions options)
    : DualEngine(std::move(task), std::move(learner), std::move(examples), options), scratch_(task_->make_scratch()) {}

void SerialDual::search_pass(PassReport& report, StopRequest& stop) {
  const Access access{weights_.values(), {weights_.values().data()}, 1, stop};
  FunctionSink absorb([&](const Candidate& candidate) {
    learner_->absorb(candidate, visitor_.visit);
    ++report.found;
  });
  ThreadTime& time = report.threads.emplace_back();
  Stopwatch watch;
  std::vector<std::size_t> order;
  std::ranges::copy_if(examples_, std::back_inserter(order), [&](std::size_t i) { return !rests_.spares(i); });
  order = pass_order(std::move(order), options_, visitor_.random);
  for (std::size_t j = 0; j < order.size(); ++j) {
    const std::size_t i = order[j];
    if (stop.stopped()) {
      report.stopped = true;
      break;
    }
    learner_->prefetch(std::span<const std::size_t>(order).subspan(j + 1), weights_.values());
    const std::size_t found_before = report.found;
    const double slack = task_->find(i, weights_.values(), learner_->search(i), *scratch_, absorb);
    note_search(i, slack, report);
    report.wrong += report.found > found_before ? 1 : 0;
    rests_.note(i, report.found == found_before && learner_->blocks()[i].empty());
    time.inference += watch.lap();
    improve(*learner_, i, visitor_, access);
    time.update += watch.lap();
  }
  report.accepted = report.found;
}

}  // namespace marginloom
