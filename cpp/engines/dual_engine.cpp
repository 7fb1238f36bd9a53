#include "engines/dual_engine.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <numeric>
#include <utility>

#include "core/kernels.hpp"
#include "core/norm_parts.hpp"
#include "core/stopwatch.hpp"
#include "engines/certificate.hpp"
#include "engines/engine_state.hpp"
#include "learners/step_average.hpp"

namespace marginloom {
DualEngine::DualEngine(std::shared_ptr<const Task> task, std::shared_ptr<BlockLearner> learner,
                       std::vector<std::size_t> examples, OrderOptions options)
    : Engine(std::move(task)),
      learner_(std::move(learner)),
      examples_(std::move(examples)),
      options_(options),
      random_(options.seed),
      skipped_(task_->size(), learner_->schedule().most_skipped),
      worker_(*learner_, skipped_, examples_) {}

PassReport DualEngine::do_pass(StopRequest& stop) {
  PassReport report;
  const std::size_t updates_before = worker_.updates;
  loss_sum_ = 0;
  worker_.begin(random_);
  average_.begin();
  learner_->begin_pass();
  try {
    search_pass(report, stop);
  } catch (const Interrupted&) {  // within a search
    report.stopped = true;
  }
  if (report.threads.empty()) report.threads.emplace_back();
  collect(worker_, report);
  report.threads.front().add(worker_.time);
  report.training_loss /= static_cast<double>(std::max<std::size_t>(report.inferences, 1));
  if (!report.stopped) inner_passes(report, stop);
  Stopwatch watch;
  PassEnd end;
  if (!report.stopped) end = learner_->end_pass(weights_.values(), worker_.visit, stop);
  worker_.updates += end.updates;
  report.stopped |= stop.stopped();  // a learner may have been cut short within
  // The first look at many weights takes long: they get their memory by it.
  if (const auto norm = squared_norm(stop)) {
    const double checked = check(*norm, !report.stopped);
    report.dual = learner_->dual(checked);
    report.primal_estimate = loss_sum_ + checked / 2;
    if (end.gap) report.primal_estimate = *report.dual + *end.gap;
    if (!report.stopped) learner_->note_gap(*report.primal_estimate, *report.dual);
  } else {
    report.stopped = true;
  }
  const auto held = learner_->held();
  report.active = held.candidates;
  report.working_set_bytes = held.bytes;
  report.updates = worker_.updates - updates_before;
  report.threads.front().update += watch.lap();
  return report;
}

std::optional<double> DualEngine::squared_norm(StopRequest& stop) {
  NormParts norms(weights_.values());
  std::atomic<std::size_t> next{0};
  std::atomic<bool> ended{false};
  const auto add_up = [&](int thread) {
    for (std::size_t k = next++; k < norms.size(); k = next++) {
      if (thread == 0 && stop.stopped()) ended = true;
      if (ended.load(std::memory_order_relaxed)) return;
      norms.compute(k);
    }
  };
  if (Team* threads = team(); threads && norms.size() > 1) {
    threads->share(add_up);
  } else {
    add_up(0);
  }
  if (ended) return std::nullopt;
  return norms.sum();
}

std::vector<std::size_t> DualEngine::order_of_pass() {
  std::vector<std::size_t> order;
  std::ranges::copy_if(examples_, std::back_inserter(order), [&](std::size_t i) { return !skipped_.skip(i); });
  return pass_order(std::move(order), options_, worker_.random);
}

void DualEngine::collect(Worker& worker, PassReport& report) {
  report.add_counts(worker.report);
  loss_sum_ += worker.loss_sum;
  if (&worker != &worker_) worker_.updates += std::exchange(worker.updates, 0);
}

void DualEngine::inner_passes(PassReport& report, StopRequest& stop) {
  const Access access = plain_access(stop);
  Stopwatch watch;
  worker_.inner_passes(options_.shuffle, access, [&](std::size_t updates) { note_inner_pass(updates); });
  if (!stop.stopped()) worker_.end_part(access);
  report.threads.front().update += watch.lap();
  report.stopped |= stop.stopped();
}

void DualEngine::note_inner_pass(std::size_t updates) {
  if (learner_->schedule().averaged) average_.note(weights_.values(), updates);
}

std::optional<Certificate> DualEngine::do_certify(int threads, StopRequest& stop) {
  skipped_.forget();
  learner_->write_weights(weights_.values(), threads);
  std::vector<double> average(weights_are_final() ? 0 : weights_.size());
  if (!average.empty()) final_weights(average);
  const WeightView w = average.empty() ? WeightView(weights_.values()) : WeightView(average);
  Certificate certificate = marginloom::certify(*task_, *learner_, w, examples_, threads, stop, world());
  if (!average_.empty()) {  // the duals were not averaged; the bound that they give holds for any weights
    certificate.dual = learner_->dual(kernels().squared_norm(weights_.values().data(), weights_.size()));
  }
  if (certificate.complete) learner_->note_gap(certificate.primal, certificate.dual);
  return certificate;
}

void DualEngine::final_weights(std::span<double> result) const {
  if (result.data() != weights_.values().data()) std::ranges::copy(weights_.values(), result.begin());
  if (!average_.empty()) average_.write(result);
  if (const StepAverage* average = learner_->average()) average->average(result);
}

StateArrays DualEngine::export_state() const {
  StateArrays state = with_engine_state(learner_->export_state(), weights_.values(), random_);
  average_.add_to(state);
  skipped_.add_to(state);
  return state;
}

// The weights of a union are the sum of those of its parts. An average of a pass is of that pass.
StateArrays DualEngine::merged(const StateArrays& first, const StateArrays& second) const {
  StateArrays state = learner_->merged(first, second);
  std::vector<double> weights = state_array<double>(first, "weights");
  const auto& more = state_array<double>(second, "weights");
  if (weights.size() != more.size()) throw std::invalid_argument("the states have different numbers of weights");
  for (std::size_t k = 0; k < weights.size(); ++k) weights[k] += more[k];
  state["weights"] = std::move(weights);
  state["random"] = state_array<std::uint64_t>(first, "random");
  SkippedSearches::merge(first, second, state);
  return state;
}

void DualEngine::forget_averages() {
  average_.begin();
  if (StepAverage* average = learner_->average()) average->forget();
}

void DualEngine::import_state(const StateArrays& state) {
  const Random random = restored_random(state);
  const auto& saved = state_array<double>(state, "weights");
  SweepAverage average;
  if (learner_->schedule().averaged) average.take_from(state, weights_.size());
  SkippedSearches skipped = skipped_;
  skipped.take_from(state, learner_->ids());
  learner_->import_state(state);
  average_ = std::move(average);
  skipped_ = std::move(skipped);
  random_ = random;
  const auto w = weights_.values();
  learner_->write_weights(w);
  restore_last_bits(saved, w);
}

}  // namespace marginloom
