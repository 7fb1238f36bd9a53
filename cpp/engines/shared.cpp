#include "engines/shared.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/stopwatch.hpp"
#include "engines/registered_engine.hpp"

namespace marginloom {

Shared::Shared(std::shared_ptr<const Task> task, std::shared_ptr<DualLearner> learner,
               std::vector<std::size_t> examples, VisitOptions visiting, SharedOptions options)
    : DualEngine(std::move(task), std::move(learner), std::move(examples), visiting),
      parallel_(std::move(options)),
      team_(
          static_cast<int>(std::clamp<std::size_t>(examples_.size(), 1, static_cast<std::size_t>(parallel_.threads)))),
      parts_(static_cast<std::size_t>(team_.size())) {
  for (Part& part : parts_) {
    part.scratch = task_->make_scratch();
  }
  if (parts_.size() > 1) safeguard_ = std::make_unique<Safeguard>(*learner_, parts_.size(), parts_.size());
}

void Shared::search_pass(PassReport& report, StopRequest& stop) {
  deal_out();
  if (safeguard_) safeguard_->begin(weights_.values(), examples_, visitor_.random);
  for (Part& part : parts_) part.visitor.begin(visitor_.random);
  ending_ = false;
  team_.run([&](int thread) {
    // Only the calling thread may ask the owner; the others ask whether it was told to end.
    StopRequest ending([this] { return ending_.load(std::memory_order_relaxed) || told_to_stop(); });
    try {
      learn_part(static_cast<std::size_t>(thread), thread == 0 ? stop : ending);
    } catch (const Interrupted&) {  // within a search
      ending_ = true;
    } catch (...) {
      ending_ = true;
      throw;
    }
  });
  report.stopped = ending_;
  collect(report);
}

void Shared::learn_part(std::size_t thread, StopRequest& stop) {
  Part& part = parts_[thread];
  part.report = {};
  part.examples.clear();
  part.host = 0;
  part.coming = {};
  part.loss_sum = 0;
  part.gain = 0;
  if (safeguard_) part.visitor.visit.caution = safeguard_->caution();
  const auto threads = static_cast<int>(parts_.size());
  const Access access{weights_.values(), {weights_.values().data(), threads > 1}, threads, stop};
  search_part(thread, access);
  Stopwatch watch;
  const bool averages = learner_->schedule().averaged && thread == 0;
  const auto after_pass = [&](std::size_t updates) {  // the others change as many, more or less
    if (averages) average_.note(weights_.values(), updates * parts_.size());
  };
  if (!stop.stopped() && !ending_) {
    part.gain += marginloom::inner_passes(*learner_, part.visitor, options_.shuffle,
                                          visiting(*learner_, part.visitor, access), after_pass);
  }
  if (!stop.stopped() && !ending_) part.gain += end_part(*learner_, part.visitor, access);
  part.report.threads.front().update += watch.lap();
  if (stop.stopped()) ending_ = true;
}

void Shared::search_part(std::size_t thread, const Access& access) {
  Part& part = parts_[thread];
  PassReport& report = part.report;
  FunctionSink absorb([&](const Candidate& candidate) {
    learner_->absorb(candidate, part.visitor.visit);
    ++report.found;
  });
  ThreadTime& time = report.threads.emplace_back();
  Stopwatch watch;
  part.visitor.examples = {};
  while (take_examples(thread)) {
    const std::size_t i = part.coming.front();
    part.coming = part.coming.subspan(1);
    if (access.stop.stopped() || ending_.load(std::memory_order_relaxed)) return;
    if (safeguard_) safeguard_->note(i, thread);
    part.examples.push_back(i);
    part.visitor.examples = part.examples;
    learner_->prefetch(part.coming, access.weights);
    const std::size_t found_before = report.found;
    const FindOptions search = learner_->search(i);
    const double slack = parts_.size() > 1
                             ? find_in_live_weights(*task_, i, access.weights, search, *part.scratch, absorb)
                             : task_->find(i, access.weights, search, *part.scratch, absorb);
    learner_->searched(i, slack);
    ++report.inferences;
    report.wrong += report.found > found_before ? 1 : 0;
    report.training_loss += slack;
    rests_.note(i, report.found == found_before && learner_->blocks()[i].empty());
    part.loss_sum += learner_->cost(i) * loss_value(learner_->loss(), slack);
    time.inference += watch.lap();
    parallel_.at_example();
    part.gain += improve(*learner_, i, part.visitor, access);
    time.update += watch.lap();
  }
}

// Every thread has its own examples, always the same ones; it takes them before those of others.
void Shared::deal_out() {
  for (Part& part : parts_) {
    part.home.clear();
    part.taken = 0;
  }
  for (std::size_t j = 0; j < examples_.size(); ++j) {
    if (!rests_.spares(examples_[j])) parts_[j % parts_.size()].home.push_back(examples_[j]);
  }
  for (Part& part : parts_) part.home = pass_order(std::move(part.home), options_, visitor_.random);
}

// Sees to it that an example is coming, one of its own as long as there are any; false if there are none left at all.
// It takes many of its own at a time, fewer towards their end, and looks ahead no further: what it has not taken may be
// another thread's any time.
bool Shared::take_examples(std::size_t thread) {
  constexpr std::size_t most_own = 32;
  constexpr std::size_t most_left = 4;
  Part& part = parts_[thread];
  while (part.coming.empty() && part.host < parts_.size()) {
    Part& host = parts_[(thread + part.host) % parts_.size()];
    const std::span<const std::size_t> examples = host.home;
    const std::size_t left = examples.size() - std::min(host.taken.load(std::memory_order_relaxed), examples.size());
    const std::size_t some = std::clamp<std::size_t>(left / 4, 1, part.host == 0 ? most_own : most_left);
    const std::size_t first = host.taken.fetch_add(some, std::memory_order_relaxed);
    if (first < examples.size()) {
      part.coming = examples.subspan(first, std::min(some, examples.size() - first));
    } else {
      ++part.host;
    }
  }
  return !part.coming.empty();
}

void Shared::collect(PassReport& report) {
  for (Part& part : parts_) {
    report.add_counts(part.report);
    report.threads.push_back(part.report.threads.front());
    loss_sum_ += part.loss_sum;
    visitor_.updates += std::exchange(part.visitor.updates, 0);
  }
  report.accepted = report.found;
}

double Shared::check(double squared_norm, bool whole_pass) {
  if (!safeguard_) return squared_norm;
  double believed = 0;
  for (const Part& part : parts_) believed += part.gain;
  return safeguard_->check(squared_norm, believed, whole_pass, weights_.values());
}

void Shared::import_state(const StateArrays& state) {
  DualEngine::import_state(state);
  if (safeguard_) safeguard_->forget();
}

namespace {

const EngineRegistration<DualLearner> registered_shared("shared", [](const DualJob& job, NoOptions) {
  return std::make_shared<Shared>(job.task, job.learner, job.examples(), job.visits,
                                  SharedOptions{.threads = job.threads});
});

}  // namespace

}  // namespace marginloom
