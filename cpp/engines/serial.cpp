#include "engines/serial.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "core/kernels.hpp"

namespace marginloom {
namespace {

class Stopwatch {
 public:
  // Seconds since the last call, or since construction.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

std::vector<std::size_t> pass_order(std::vector<std::size_t> examples, const SerialOptions& options, Random& random) {
  if (options.shuffle) random.shuffle(std::span(examples));
  return examples;
}

StateArrays with_engine_state(StateArrays state, std::span<const double> weights, const Random& random) {
  state["weights"] = std::vector<double>(weights.begin(), weights.end());
  state["random"] = std::vector<std::uint64_t>{random.state()};
  return state;
}

Random restored_random(const StateArrays& state) {
  const auto& words = state_array<std::uint64_t>(state, "random");
  if (words.size() != 1) throw std::invalid_argument("'random' of the state is not one number");
  return Random(words[0]);
}

}  // namespace

SerialOnline::SerialOnline(std::shared_ptr<const Task> task, std::shared_ptr<OnlineLearner> learner,
                           std::vector<std::size_t> examples, SerialOptions options)
    : Engine(std::move(task)),
      learner_(std::move(learner)),
      examples_(std::move(examples)),
      options_(options),
      lane_{Random(options.seed)},
      scratch_(task_->make_scratch()) {}

PassReport SerialOnline::run_pass(StopRequest& stop) {
  PassReport report;
  const std::size_t updates_before = lane_.updates;
  const PlainWeights w{weights_.values().data()};
  CandidateBatch found;
  ThreadTime& time = report.threads.emplace_back();
  Stopwatch watch;
  if (!learner_->prepare(examples_, lane_.random, stop)) {
    report.stopped = true;
    return report;
  }
  time.inference += watch.lap();
  for (const std::size_t i : pass_order(examples_, options_, lane_.random)) {
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
    learner_->step(found, w, lane_);
    time.update += watch.lap();
  }
  report.training_loss /= static_cast<double>(std::max<std::size_t>(report.inferences, 1));
  report.updates = lane_.updates - updates_before;
  return report;
}

void SerialOnline::final_weights(std::span<double> result) const {
  learner_->final_weights(weights_.values(), result);
}

StateArrays SerialOnline::export_state() const {
  return with_engine_state(learner_->export_state(), weights_.values(), lane_.random);
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
  lane_.random = random;
  std::ranges::copy(weights, weights_.values().begin());
}

SerialDual::SerialDual(std::shared_ptr<const Task> task, std::shared_ptr<DualLearner> learner,
                       std::vector<std::size_t> examples, SerialOptions options)
    : Engine(std::move(task)),
      learner_(std::move(learner)),
      examples_(std::move(examples)),
      options_(options),
      lane_{Random(options.seed)},
      scratch_(task_->make_scratch()) {}

PassReport SerialDual::run_pass(StopRequest& stop) {
  PassReport report;
  const std::size_t updates_before = lane_.updates;
  lane_.stop = &stop;
  search_pass(report, stop);
  if (!report.stopped) inner_passes(report, stop);
  Stopwatch watch;
  if (!report.stopped) learner_->end_pass(PlainWeights{weights_.values().data()}, lane_);
  report.threads.front().update += watch.lap();
  lane_.stop = nullptr;
  report.stopped |= stop.stopped();  // a learner may have been cut short within
  const double squared_norm = kernels().squared_norm(weights_.values().data(), weights_.size());
  *report.primal_estimate += squared_norm / 2;
  report.dual = learner_->dual(squared_norm);
  if (const auto gap = learner_->gap_estimate()) report.primal_estimate = *report.dual + *gap;
  if (!report.stopped) learner_->note_gap(*report.primal_estimate, *report.dual);
  report.active = learner_->active();
  report.working_set_bytes = learner_->memory();
  report.updates = lane_.updates - updates_before;
  return report;
}

void SerialDual::search_pass(PassReport& report, StopRequest& stop) {
  const PlainWeights w{weights_.values().data()};
  bool found = false;
  FunctionSink absorb([&](const Candidate& candidate) {
    learner_->absorb(candidate);
    found = true;
  });
  double loss_sum = 0;
  ThreadTime& time = report.threads.emplace_back();
  Stopwatch watch;
  for (const std::size_t i : pass_order(examples_, options_, lane_.random)) {
    if (stop.stopped()) {
      report.stopped = true;
      break;
    }
    found = false;
    const double slack = task_->find(i, weights_.values(), learner_->search(i), *scratch_, absorb);
    learner_->searched(i, slack);
    ++report.inferences;
    report.wrong += found ? 1 : 0;
    report.training_loss += slack;
    loss_sum += learner_->cost(i) * loss_value(learner_->loss(), slack);
    time.inference += watch.lap();
    learner_->improve(i, w, lane_);
    time.update += watch.lap();
  }
  report.training_loss /= static_cast<double>(std::max<std::size_t>(report.inferences, 1));
  report.primal_estimate = loss_sum;
}

void SerialDual::inner_passes(PassReport& report, StopRequest& stop) {
  const PlainWeights w{weights_.values().data()};
  ThreadTime& time = report.threads.front();
  Stopwatch watch;
  std::vector<double> gains(learner_->shrinking() > 0 ? task_->size() : 0);
  double least = 0;  // gain that a block must have had in the pass before
  for (int pass = 0; pass < learner_->inner_passes() && !report.stopped; ++pass) {
    std::vector<std::size_t> order;
    std::ranges::copy_if(examples_, std::back_inserter(order), [&](std::size_t i) {
      return learner_->has_candidates(i) && (least == 0 || gains[i] >= least);
    });
    order = pass_order(std::move(order), options_, lane_.random);
    double total = 0;
    for (std::size_t j = 0; j < order.size(); ++j) {
      if (j % 64 == 0 && stop.stopped()) {
        report.stopped = true;
        break;
      }
      learner_->prefetch(std::span(order).subspan(j + 1));
      const double gain = learner_->improve(order[j], w, lane_);
      total += gain;
      if (!gains.empty()) gains[order[j]] = gain;
    }
    if (!order.empty()) least = learner_->shrinking() * total / static_cast<double>(order.size());
  }
  time.update += watch.lap();
}

std::optional<Certificate> SerialDual::certify(int threads, StopRequest& stop) {
  learner_->write_weights(weights_.values());
  std::vector<double> average(learner_->averages() ? weights_.size() : 0);
  if (!average.empty()) final_weights(average);
  const WeightView w = average.empty() ? WeightView(weights_.values()) : WeightView(average);
  const Certificate certificate = marginloom::certify(*task_, *learner_, w, examples_, threads, stop);
  if (certificate.complete) learner_->note_gap(certificate.primal, certificate.dual);
  return certificate;
}

void SerialDual::final_weights(std::span<double> result) const {
  if (result.data() != weights_.values().data()) std::ranges::copy(weights_.values(), result.begin());
  if (learner_->averages()) learner_->average(result);
}

StateArrays SerialDual::export_state() const {
  return with_engine_state(learner_->export_state(), weights_.values(), lane_.random);
}

// The weights are what the duals say. Saved weights are the same up to rounding, and taken for their last
// bits, so that a resumed run repeats an uninterrupted one; if they differ by more they belong to other
// features.
void SerialDual::import_state(const StateArrays& state) {
  const Random random = restored_random(state);
  const auto& saved = state_array<double>(state, "weights");
  learner_->import_state(state);
  lane_.random = random;
  const auto w = weights_.values();
  learner_->write_weights(w);
  if (saved.size() != w.size()) return;
  double scale = 1;
  for (const double value : w) scale = std::max(scale, std::abs(value));
  for (std::size_t k = 0; k < w.size(); ++k) {
    if (!(std::abs(saved[k] - w[k]) <= 1e-9 * scale)) return;
  }
  std::ranges::copy(saved, w.begin());
}

}  // namespace marginloom
