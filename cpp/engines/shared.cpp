#include "engines/shared.hpp"

#include <algorithm>
#include <utility>

#include "core/stopwatch.hpp"
#include "engines/registered_engine.hpp"

namespace marginloom {

Shared::Shared(std::shared_ptr<const Task> task, std::shared_ptr<BlockLearner> learner,
               std::vector<std::size_t> examples, OrderOptions order, SharedOptions options)
    : DualEngine(std::move(task), std::move(learner), std::move(examples), order),
      parallel_(std::move(options)),
      team_(
          static_cast<int>(std::clamp<std::size_t>(examples_.size(), 1, static_cast<std::size_t>(parallel_.threads)))) {
  for (int thread = 0; thread < team_.size(); ++thread) parts_.emplace_back(new_worker()).worker.prepare();
  if (parts_.size() > 1) safeguard_ = std::make_unique<Safeguard>(*learner_, parts_.size(), parts_.size());
}

void Shared::search_pass(PassReport& report, StopRequest& stop) {
  deal_out();
  if (safeguard_) safeguard_->begin(weights_.values(), examples_, worker_.random);
  for (Part& part : parts_) part.worker.begin(worker_.random);
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
  for (Part& part : parts_) {
    collect(part.worker, report);
    report.threads.push_back(part.worker.time);
  }
}

void Shared::learn_part(std::size_t thread, StopRequest& stop) {
  Part& part = parts_[thread];
  Worker& worker = part.worker;
  if (safeguard_) worker.visit.asked.damping = safeguard_->damping();
  const auto threads = static_cast<int>(parts_.size());
  const Access access{weights_.values(), {weights_.values().data(), threads > 1}, threads, stop};
  search_part(thread, access);
  Stopwatch watch;
  const bool averages = learner_->schedule().averaged && thread == 0;
  const auto after_pass = [&](std::size_t updates) {  // the others change as many, more or less
    if (averages) average_.note(weights_.values(), updates * parts_.size());
  };
  if (!stop.stopped() && !ending_) worker.inner_passes(options_.shuffle, access, after_pass);
  if (!stop.stopped() && !ending_) worker.end_part(access);
  worker.time.update += watch.lap();
  if (stop.stopped()) ending_ = true;
}

void Shared::search_part(std::size_t thread, const Access& access) {
  Part& part = parts_[thread];
  for (; take_examples(thread); part.coming = part.coming.subspan(1)) {
    if (access.stop.stopped() || ending_.load(std::memory_order_relaxed)) return;
    const std::size_t i = part.coming.front();
    if (safeguard_) safeguard_->note(i, thread);
    part.searched.push_back(i);
    part.worker.examples = part.searched;
    part.worker.search_and_improve(part.coming, access, std::ref(parallel_.at_example));
  }
}

// Every thread has its own examples, always the same ones; it takes them before those of others.
void Shared::deal_out() {
  for (Part& part : parts_) {
    part.own.clear();
    part.taken = 0;
    part.from = 0;
    part.coming = {};
    part.searched.clear();
    part.worker.examples = {};
  }
  for (std::size_t j = 0; j < examples_.size(); ++j) {
    if (!skipped_.skip(examples_[j])) parts_[j % parts_.size()].own.push_back(examples_[j]);
  }
  for (Part& part : parts_) part.own = pass_order(std::move(part.own), options_, worker_.random);
}

// Sees to it that an example is coming, one of its own as long as there are any; false if there are none left at all.
// It takes many of its own at a time, fewer towards their end, and looks ahead no further: what it has not taken may be
// another thread's any time.
bool Shared::take_examples(std::size_t thread) {
  constexpr std::size_t most_own = 32;
  constexpr std::size_t most_left = 4;
  Part& part = parts_[thread];
  while (part.coming.empty() && part.from < parts_.size()) {
    Part& owner = parts_[(thread + part.from) % parts_.size()];
    const std::span<const std::size_t> examples = owner.own;
    const std::size_t left = examples.size() - std::min(owner.taken.load(std::memory_order_relaxed), examples.size());
    const std::size_t some = std::clamp<std::size_t>(left / 4, 1, part.from == 0 ? most_own : most_left);
    const std::size_t first = owner.taken.fetch_add(some, std::memory_order_relaxed);
    if (first < examples.size()) {
      part.coming = examples.subspan(first, std::min(some, examples.size() - first));
    } else {
      ++part.from;
    }
  }
  return !part.coming.empty();
}

double Shared::check(double squared_norm, bool whole_pass) {
  if (!safeguard_) return squared_norm;
  double expected = 0;
  for (const Part& part : parts_) expected += part.worker.gain;
  return safeguard_->check(squared_norm, expected, whole_pass, weights_.values());
}

void Shared::import_state(const StateArrays& state) {
  DualEngine::import_state(state);
  if (safeguard_) safeguard_->forget();
}

namespace {

const EngineRegistration<BlockLearner> registered_shared("shared", [](const BlockJob& job, NoOptions) {
  return std::make_shared<Shared>(job.task, job.learner, job.examples(), job.order,
                                  SharedOptions{.threads = job.threads});
});

}  // namespace

}  // namespace marginloom
