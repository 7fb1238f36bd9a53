#include "engines/serial.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/stopwatch.hpp"
#include "engines/registered_engine.hpp"

namespace marginloom {
SerialOnline::SerialOnline(std::shared_ptr<const Task> task, std::shared_ptr<OnlineLearner> learner,
                           std::vector<std::size_t> examples, VisitOptions options)
    : Engine(std::move(task)),
      learner_(std::move(learner)),
      examples_(std::move(examples)),
      options_(options),
      random_(options.seed),
      scratch_(task_->make_scratch()) {}

PassReport SerialOnline::do_pass(StopRequest& stop) {
  PassReport report;
  try {
    visit_all(report, stop);
  } catch (const Interrupted&) {  // within a search
    report.stopped = true;
  }
  report.training_loss /= static_cast<double>(std::max<std::size_t>(report.inferences, 1));
  return report;
}

void SerialOnline::visit_all(PassReport& report, StopRequest& stop) {
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
    ++report.inferences;
    time.inference += watch.lap();
    report.wrong += found.empty() ? 0 : 1;
    if (options.loss_scale != 0) {
      report.training_loss += violation / options.loss_scale;
    } else if (!found.empty()) {
      report.training_loss += found[0].loss;
    }
    report.updates += learner_->step(found, weights_.values());
    time.update += watch.lap();
  }
}

void SerialOnline::final_weights(std::span<double> result) const {
  learner_->final_weights(weights_.values(), result);
}

StateArrays SerialOnline::export_state() const {
  return with_engine_state(learner_->export_state(), weights_.values(), random_);
}

void SerialOnline::import_state(const StateArrays& state) {
  const auto& weights = state_array<double>(state, "weights");
  if (!all_finite(weights)) throw std::invalid_argument("'weights' of the state has NaN or infinite values");
  if (weights.size() != weights_.size()) {
    throw std::invalid_argument("the state has " + std::to_string(weights.size()) + " weights, the task " +
                                std::to_string(weights_.size()));
  }
  const Random random = restored_random(state);
  learner_->import_state(state);
  random_ = random;
  std::ranges::copy(weights, weights_.values().begin());
}

SerialDual::SerialDual(std::shared_ptr<const Task> task, std::shared_ptr<DualLearner> learner,
                       std::vector<std::size_t> examples, VisitOptions options)
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

namespace {

const EngineRegistration<OnlineLearner> registered_serial_online("serial", [](const OnlineJob& job, NoOptions) {
  return std::make_shared<SerialOnline>(job.task, job.learner, job.examples(), job.visits);
});
const EngineRegistration<DualLearner> registered_serial_dual("serial", [](const DualJob& job, NoOptions) {
  return std::make_shared<SerialDual>(job.task, job.learner, job.examples(), job.visits);
});

}  // namespace

}  // namespace marginloom
