#include "engines/shared.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "core/stopwatch.hpp"
#include "engines/sweeps.hpp"

namespace marginloom {
namespace {

// A function of its own, so that the thread sanitizer can be told of just these reads.
[[gnu::noinline]] double find_in_live_weights(const Task& task, std::size_t i, WeightView w, const FindOptions& options,
                                              Scratch& scratch, CandidateSink& sink) {
  return task.find(i, w, options, scratch, sink);
}

// Deals out runs of neighbouring examples with the same amount of predicted work: what different threads write lies
// apart in memory. Requires as many examples as parts, or one part.
std::vector<std::vector<std::size_t>> runs_of_equal_work(const Task& task, std::span<const std::size_t> examples,
                                                         std::size_t parts) {
  double total = 0;
  for (const std::size_t i : examples) total += task.work(i);
  std::vector<std::vector<std::size_t>> result(parts);
  std::size_t next = 0;
  double done = 0;
  for (std::size_t t = 0; t < parts; ++t) {
    const double end = total * static_cast<double>(t + 1) / static_cast<double>(parts);
    const std::size_t last = examples.size() - (parts - t - 1);  // every part after this one gets an example
    while (next < last && (result[t].empty() || t + 1 == parts || done + task.work(examples[next]) / 2 < end)) {
      done += task.work(examples[next]);
      result[t].push_back(examples[next++]);
    }
  }
  return result;
}

}  // namespace

Shared::Shared(std::shared_ptr<const Task> task, std::shared_ptr<DualLearner> learner,
               std::vector<std::size_t> examples, VisitOptions visiting, SharedOptions options)
    : DualEngine(std::move(task), std::move(learner), std::move(examples), visiting),
      parallel_(std::move(options)),
      team_(
          static_cast<int>(std::clamp<std::size_t>(examples_.size(), 1, static_cast<std::size_t>(parallel_.threads)))),
      parts_(static_cast<std::size_t>(team_.size())),
      rests_(task_->size(), learner_->longest_rest()) {
  auto runs = runs_of_equal_work(*task_, examples_, parts_.size());
  for (std::size_t t = 0; t < parts_.size(); ++t) {
    Part& part = parts_[t];
    part.examples = std::move(runs[t]);
    part.scratch = task_->make_scratch();
    part.lane.examples = part.examples;
    part.lane.share =
        static_cast<double>(part.examples.size()) / static_cast<double>(std::max<std::size_t>(examples_.size(), 1));
    if (parallel_.recorded) part.ledger.resize(weights_.size());
  }
}

void Shared::search_pass(PassReport& report, StopRequest& stop) {
  if (parallel_.recorded) before_.assign(weights_.values().begin(), weights_.values().end());
  for (Part& part : parts_) part.lane.random = Random(lane_.random.next());
  ending_ = false;
  at_work_ = parts_.size();
  try {
    team_.run([&](int thread) {
      // Only the calling thread may ask the owner; the others ask whether it was told to end.
      StopRequest ending([this] { return ending_.load(std::memory_order_relaxed); });
      try {
        learn_part(parts_[static_cast<std::size_t>(thread)], thread == 0 ? stop : ending);
      } catch (...) {
        ending_ = true;
        leave();
        throw;
      }
      leave();
      if (thread == 0) wait_for_others(stop);
    });
  } catch (...) {
    merge_ledgers();
    throw;
  }
  merge_ledgers();
  report.stopped = ending_;
  collect(report);
}

void Shared::learn_part(Part& part, StopRequest& stop) {
  part.report = {};
  part.loss_sum = 0;
  part.gain = 0;
  part.lane.stop = &stop;
  part.lane.waiting.clear();
  const AtomicWeights w{weights_.values().data(), caution_, parallel_.recorded ? part.ledger.data() : nullptr};
  search_part(part, w, stop);
  Stopwatch watch;
  const bool averages = learner_->averages_sweeps() && &part == &parts_.front();
  const auto after_pass = [&](std::size_t updates) {  // the others change as many, more or less
    if (averages) average_.note(w, weights_.size(), updates * parts_.size());
  };
  const double least_gain = parts_.size() > 1 ? parallel_.least_gain : 0;
  if (!stop.stopped() && !ending_) part.gain += sweep_blocks(*learner_, w, part.lane, options_, least_gain, after_pass);
  if (!stop.stopped() && !ending_) part.gain += learner_->end_part(w, part.lane);
  part.report.threads.front().update += watch.lap();
  if (stop.stopped()) ending_ = true;
  part.lane.stop = nullptr;
}

void Shared::search_part(Part& part, const AtomicWeights& w, StopRequest& stop) {
  PassReport& report = part.report;
  FunctionSink absorb([&](const Candidate& candidate) {
    learner_->absorb(candidate);
    ++report.found;
  });
  ThreadTime& time = report.threads.emplace_back();
  Stopwatch watch;
  std::vector<std::size_t> order;
  std::ranges::copy_if(part.examples, std::back_inserter(order), [&](std::size_t i) { return !rests_.spares(i); });
  order = pass_order(std::move(order), options_, part.lane.random);
  for (std::size_t j = 0; j < order.size(); ++j) {
    const std::size_t i = order[j];
    if (stop.stopped() || ending_.load(std::memory_order_relaxed)) return;
    learner_->prefetch(std::span(order).subspan(j + 1));
    const std::size_t found_before = report.found;
    const double slack = find_in_live_weights(*task_, i, weights_.values(), learner_->search(i), *part.scratch, absorb);
    learner_->searched(i, slack);
    ++report.inferences;
    report.wrong += report.found > found_before ? 1 : 0;
    report.training_loss += slack;
    rests_.note(i, report.found == found_before && !learner_->has_candidates(i));
    part.loss_sum += learner_->cost(i) * loss_value(learner_->loss(), slack);
    time.inference += watch.lap();
    parallel_.at_example();
    part.gain += learner_->improve(i, w, part.lane);
    time.update += watch.lap();
  }
}

void Shared::leave() {
  const std::lock_guard lock(mutex_);
  if (--at_work_ == 0) left_.notify_all();
}

// The calling thread goes on asking its owner whether to stop.
void Shared::wait_for_others(StopRequest& stop) {
  std::unique_lock lock(mutex_);
  while (!left_.wait_for(lock, std::chrono::milliseconds(50), [this] { return at_work_ == 0; })) {
    if (stop.stopped()) ending_ = true;
  }
}

// w = what it was + everybody's changes.
void Shared::merge_ledgers() {
  if (!parallel_.recorded) return;
  const auto w = weights_.values();
  const std::size_t slice = (w.size() + parts_.size() - 1) / parts_.size();
  team_.run([&](int thread) {
    const std::size_t begin = std::min(static_cast<std::size_t>(thread) * slice, w.size());
    const std::size_t end = std::min(begin + slice, w.size());
    std::copy(before_.begin() + begin, before_.begin() + end, w.begin() + begin);
    for (Part& part : parts_) {
      for (std::size_t k = begin; k < end; ++k) w[k] += std::exchange(part.ledger[k], 0.0);
    }
  });
}

void Shared::collect(PassReport& report) {
  for (Part& part : parts_) {
    report.inferences += part.report.inferences;
    report.found += part.report.found;
    report.wrong += part.report.wrong;
    report.training_loss += part.report.training_loss;
    report.threads.push_back(part.report.threads.front());
    loss_sum_ += part.loss_sum;
    lane_.updates += std::exchange(part.lane.updates, 0);
  }
  report.accepted = report.found;
}

// Compares what the threads believe to have gained with the gain of the dual.
void Shared::note_dual(double dual, bool whole_pass) {
  constexpr double enough = 0.5;
  constexpr double good = 0.8;
  constexpr double rise = 1.5;
  constexpr double fall = 1.05;  // slowly: going back and forth between too much and just enough gains little
  double believed = 0;
  for (const Part& part : parts_) believed += part.gain;
  const double gained = dual - std::exchange(dual_, dual);
  if (!whole_pass || std::isnan(gained)) return;
  if (gained < enough * believed) {
    caution_ = std::min(caution_ * rise, static_cast<double>(parts_.size()));
  } else if (gained > good * believed) {
    caution_ = std::max(caution_ / fall, 1.0);
  }
}

std::optional<Certificate> Shared::certify(int threads, StopRequest& stop) {
  rests_.end_all();
  return DualEngine::certify(threads, stop);
}

StateArrays Shared::export_state() const {
  StateArrays state = DualEngine::export_state();
  rests_.add_to(state);
  return state;
}

void Shared::import_state(const StateArrays& state) {
  DualEngine::import_state(state);
  rests_.take_from(state);
  dual_ = std::numeric_limits<double>::quiet_NaN();
}

}  // namespace marginloom
