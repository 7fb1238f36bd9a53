#include "engines/serial.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "core/stopwatch.hpp"
#include "engines/engine_state.hpp"
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

SerialPasses::SerialPasses(std::shared_ptr<const Task> task, std::shared_ptr<PassLearner> learner,
                           std::vector<std::size_t> rows, OrderOptions options, int threads)
    : Engine(std::move(task)),
      learner_(std::move(learner)),
      rows_(std::move(rows)),
      options_(options),
      random_(options.seed),
      threads_(threads) {}

PassReport SerialPasses::do_pass(StopRequest& stop) {
  const PassLearner::Order order{random_.next(), options_.shuffle};
  average_.begin();
  const auto mean = learner_->averages() ? average_.single(weights_.size()) : std::span<double>();
  PassReport report;
  try {
    report = learner_->pass(work(threads_, stop), order, mean);
  } catch (const Interrupted&) {
    report.stopped = true;
  }
  if (report.stopped) {
    average_.begin();
  } else if (report.primal_estimate && report.dual) {
    learner_->note_gap(*report.primal_estimate, *report.dual);
  }
  return report;
}

std::optional<Certificate> SerialPasses::do_certify(int threads, StopRequest& stop) {
  const WeightView mean = average_.empty() ? WeightView() : average_.single();
  const Certificate certificate = learner_->certify(work(threads, stop), mean);
  if (certificate.complete) learner_->note_gap(certificate.primal, certificate.dual);
  return certificate;
}

void SerialPasses::final_weights(std::span<double> result) const {
  if (result.data() != weights_.values().data()) std::ranges::copy(weights_.values(), result.begin());
  if (!average_.empty()) average_.write(result);
}

StateArrays SerialPasses::export_state() const {
  StateArrays state = with_engine_state(learner_->export_state(), weights_.values(), random_);
  average_.add_to(state);
  return state;
}

void SerialPasses::import_state(const StateArrays& state) {
  const Random random = restored_random(state);
  const auto& saved = state_array<double>(state, "weights");
  SweepAverage average;
  if (learner_->averages()) average.take_from(state, weights_.size());
  learner_->import_state(state);
  average_ = std::move(average);
  random_ = random;
  learner_->write_weights(weights_.values(), threads_);
  restore_last_bits(saved, weights_.values());
}

namespace {

const EngineRegistration<OnlineLearner> registered_serial_online("serial", [](const OnlineJob& job, NoOptions) {
  return std::make_shared<SerialOnline>(job.task, job.learner, job.examples(), job.order);
});
const EngineRegistration<BlockLearner> registered_serial_dual("serial", [](const BlockJob& job, NoOptions) {
  return std::make_shared<SerialDual>(job.task, job.learner, job.examples(), job.order);
});
const EngineRegistration<PassLearner> registered_serial_passes("serial", [](const PassJob& job, NoOptions) {
  return std::make_shared<SerialPasses>(job.task, job.learner, job.rows, job.order, job.threads);
});

}  // namespace

}  // namespace marginloom
