#include "engines/mixing.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/stopwatch.hpp"
#include "engines/engine_state.hpp"
#include "engines/registered_engine.hpp"

namespace marginloom {
namespace {

int team_size(int threads, std::size_t shards) {
  return static_cast<int>(std::clamp<std::size_t>(static_cast<std::size_t>(std::max(threads, 1)), 1, shards));
}

// Candidates name the weights that a step on them can change; implicit ones do not.
void mark_touched(const CandidateBatch& found, TouchedWeights& touched) {
  for (std::size_t k = 0; k < found.size(); ++k) {
    const Candidate candidate = found[k];
    for (const Entry& entry : candidate.difference) touched.mark(entry.index);
    if (candidate.implicit) touched.mark_all();
  }
}

// The weights in begin ... end - 1, as far as they are marked.
void copy_touched(const TouchedWeights& touched, std::size_t begin, std::size_t end, std::span<const double> from,
                  std::span<double> to) {
  touched.for_each_run(begin, end, [&](std::size_t first, std::size_t last) {
    std::ranges::copy(from.subspan(first, last - first), to.subspan(first).begin());
  });
}

}  // namespace

// What the threads share during a pass.
struct Mixing::Pass {
  std::atomic<std::size_t> next{0};   // shard that is not taken yet
  std::atomic<bool> stopping{false};  // by request or after an exception
  StopRequest* stop = nullptr;        // asked by the caller only
};

Mixing::Worker::Worker(const Task& task, OnlineLearner& settings)
    : weights(task.dimension()),
      learner(settings.fresh_copy()),
      scratch(task.make_scratch()),
      touched(task.dimension()) {
  if (!learner || !learner->averaging()) throw std::invalid_argument("this learner cannot be mixed");
}

Mixing::Mixing(std::shared_ptr<const Task> task, std::shared_ptr<OnlineLearner> learner,
               std::vector<std::vector<std::size_t>> shards, MixingOptions options)
    : OnlineEngine(std::move(task), std::move(learner), options.order.seed),
      options_(options),
      base_(task_->dimension()),
      changed_(task_->dimension()),
      team_(team_size(options.threads, std::max<std::size_t>(shards.size(), 1))) {
  if (shards.empty()) throw std::invalid_argument("there must be a shard");
  for (auto& examples : shards) shards_.push_back({.examples = std::move(examples), .report = {}});
  progress_.resize(shards_.size());
  for (int thread = 0; thread < team_.size(); ++thread) workers_.emplace_back(*task_, *learner_);
}

void Mixing::search_pass(PassReport& report, StopRequest& stop) {
  report.threads.resize(static_cast<std::size_t>(team_.size()));
  for (Shard& shard : shards_) shard.random = Random(random_.next());
  Pass pass;
  pass.stop = &stop;
  try {
    team_.run([&](int thread) { work(thread, pass, report.threads[static_cast<std::size_t>(thread)]); });
  } catch (...) {
    if (epoch_ == 0) {
      for (ShardProgress& progress : progress_) progress.forget();
    }
    throw;
  }
  ++epoch_;
  for (std::size_t s = 0; s < shards_.size(); ++s) {
    const Shard& shard = shards_[s];
    report.inferences += shard.report.inferences;
    report.updates += shard.report.updates;
    report.wrong += shard.report.wrong;
    report.training_loss += shard.report.training_loss;
    if (progress_[s].separated) known_right_ += shard.examples.size() - shard.report.inferences;
  }
  report.stopped = pass.stopping;
  mix(report);
  if (epoch_ == options_.inner_epochs) end_round(report);
}

void Mixing::work(int thread, Pass& pass, ThreadTime& time) {
  StopRequest* stop = thread == 0 ? pass.stop : nullptr;
  Worker& worker = workers_[static_cast<std::size_t>(thread)];
  try {
    for (std::size_t s; !pass.stopping && (s = pass.next.fetch_add(1, std::memory_order_relaxed)) < shards_.size();) {
      train(worker, shards_[s], progress_[s], pass, stop, time);
    }
  } catch (...) {
    restore(worker);
    pass.stopping = true;
    throw;
  }
}

void Mixing::train(Worker& worker, Shard& shard, ShardProgress& progress, Pass& pass, StopRequest* stop,
                   ThreadTime& time) const {
  shard.report = {};
  if (progress.separated) {
    progress.ticks += shard.examples.size();
    return;
  }
  Stopwatch watch;
  PassReport& report = shard.report;
  load(worker, progress);
  time.publishing += watch.lap();
  const FindOptions options = worker.learner->search();  // of learners that can be mixed it never changes
  for (const std::size_t i : pass_order(shard.examples, options_.order, shard.random)) {
    if (told_to_stop() || (stop && stop->stopped())) pass.stopping = true;
    if (pass.stopping.load(std::memory_order_relaxed)) break;
    worker.found.clear();
    double violation = 0;
    try {
      violation = task_->find(i, worker.weights.values(), options, *worker.scratch, worker.found);
    } catch (const Interrupted&) {
      pass.stopping = true;
      break;
    }
    count_search(options, violation, worker.found, report);
    time.inference += watch.lap();
    mark_touched(worker.found, worker.touched);
    report.updates += worker.learner->step(worker.found, worker.weights.values());
    time.update += watch.lap();
  }
  progress.wrong += report.wrong;
  progress.separated = report.wrong == 0 && report.inferences == shard.examples.size();
  store(worker, progress);
  time.publishing += watch.lap();
}

void Mixing::load(Worker& worker, const ShardProgress& progress) const {
  Averaging& average = *worker.learner->averaging();
  progress.weights.apply(*task_, worker.weights.values());
  progress.late.apply(*task_, average.late());
  average.set_ticks(progress.ticks);
  for (const WeightIndex k : progress.weights.indices()) worker.touched.mark(k);
  for (const WeightIndex k : progress.late.indices()) worker.touched.mark(k);
}

void Mixing::store(Worker& worker, ShardProgress& progress) const {
  Averaging& average = *worker.learner->averaging();
  const auto late = average.late();
  progress.weights.clear();
  progress.late.clear();
  progress.ticks = average.ticks();
  worker.touched.for_each_run([&](std::size_t first, std::size_t last) {
    for (std::size_t k = first; k < last; ++k) {
      const double change = worker.weights[k] - base_[k];
      if (change != 0) progress.weights.add(static_cast<WeightIndex>(k), change);
      if (!late.empty() && late[k] != 0) progress.late.add(static_cast<WeightIndex>(k), late[k]);
    }
  });
  restore(worker);
}

void Mixing::restore(Worker& worker) const {
  const auto late = worker.learner->averaging()->late();
  copy_touched(worker.touched, 0, base_.size(), base_.values(), worker.weights.values());
  worker.touched.for_each_run([&](std::size_t first, std::size_t last) {
    if (!late.empty()) std::ranges::fill(late.subspan(first, last - first), 0.0);
  });
  worker.touched.clear();
}

// mu
std::vector<double> Mixing::shares() const {
  std::uint64_t wrong = 0;
  for (const ShardProgress& progress : progress_) wrong += progress.wrong;
  std::vector<double> result(shards_.size(), 1 / static_cast<double>(shards_.size()));
  if (options_.mixing == MixingShares::uniform || wrong == 0) return result;
  for (std::size_t s = 0; s < shards_.size(); ++s) {
    result[s] = static_cast<double>(progress_[s].wrong) / static_cast<double>(wrong);
  }
  return result;
}

std::uint64_t Mixing::ticks() const {
  std::uint64_t sum = learner_->averaging()->ticks();
  for (const ShardProgress& progress : progress_) sum += progress.ticks;
  return sum;
}

void Mixing::on_all_threads(const std::function<void(std::size_t)>& work, PassReport& report) {
  team_.run([&](int thread) {
    Stopwatch watch;
    work(static_cast<std::size_t>(thread));
    report.threads[static_cast<std::size_t>(thread)].publishing += watch.lap();
  });
}

// Calls work(begin, end) for consecutive parts of the weights on all threads.
void Mixing::in_parts(const std::function<void(std::size_t, std::size_t)>& work, PassReport& report) {
  const auto parts = static_cast<std::size_t>(team_.size());
  on_all_threads([&](std::size_t part) { work(changed_.cut(part, parts), changed_.cut(part + 1, parts)); }, report);
}

// The weights as they are if the round ends now.
void Mixing::mix(PassReport& report) {
  const auto mu = shares();
  const auto mix_part = [&](std::size_t begin, std::size_t end) {
    for (const ShardProgress& progress : progress_) {
      for (const WeightIndex k : progress.weights.indices(begin, end)) changed_.mark(k);
    }
    copy_touched(changed_, begin, end, base_.values(), weights_.values());
    for (std::size_t s = 0; s < shards_.size(); ++s) {
      progress_[s].weights.apply_times(mu[s], begin, end, weights_.values());
    }
  };
  in_parts(mix_part, report);
}

// Puts the shards' averages into the learner's and makes the mixed weights the start of the next round.
void Mixing::end_round(PassReport& report) {
  const auto mu = shares();
  const auto late = learner_->averaging()->late();
  const std::uint64_t total = ticks();
  const auto end_part = [&](std::size_t begin, std::size_t end) {
    for (std::size_t s = 0; s < shards_.size() && !late.empty(); ++s) {
      const ShardProgress& progress = progress_[s];
      const double factor = static_cast<double>(total) * mu[s] - static_cast<double>(progress.ticks);
      progress.weights.apply_times(factor, begin, end, late);
      progress.late.apply_times(1, begin, end, late);
    }
    copy_touched(changed_, begin, end, weights_.values(), base_.values());
  };
  in_parts(end_part, report);
  learner_->averaging()->set_ticks(total);
  start_round(report);
}

void Mixing::start_round(PassReport& report) {
  epoch_ = 0;
  for (ShardProgress& progress : progress_) progress.forget();
  const auto take_over = [&](std::size_t thread) {
    copy_touched(changed_, 0, base_.size(), base_.values(), workers_[thread].weights.values());
  };
  on_all_threads(take_over, report);
  changed_.clear();
}

void Mixing::final_weights(std::span<double> result) const {
  const auto total = static_cast<double>(ticks());
  if (epoch_ == 0 || !learner_->averaging()->on() || total == 0) {
    learner_->final_weights(weights_.values(), result);
  } else if (options_.inner_epochs == 0) {
    mix_averages(result);
  } else {
    average_so_far(total, result);
  }
}

// The shards' own averages, mixed.
void Mixing::mix_averages(std::span<double> result) const {
  const auto mu = shares();
  std::ranges::copy(base_.values(), result.begin());
  for (std::size_t s = 0; s < shards_.size(); ++s) {
    const ShardProgress& progress = progress_[s];
    if (progress.ticks == 0) continue;
    progress.weights.apply_times(mu[s], 0, result.size(), result);
    progress.late.apply_times(-mu[s] / static_cast<double>(progress.ticks), 0, result.size(), result);
  }
}

// The average over all steps, those of this round included.
void Mixing::average_so_far(double total, std::span<double> result) const {
  const auto late = learner_->averaging()->late();
  for (std::size_t k = 0; k < result.size(); ++k) result[k] = total * base_[k] - late[k];
  for (const ShardProgress& progress : progress_) {
    progress.weights.apply_times(static_cast<double>(progress.ticks), 0, result.size(), result);
    progress.late.apply_times(-1, 0, result.size(), result);
  }
  for (double& value : result) value /= total;
}

// In the middle of a round the weights have another name, so that no other engine takes them for what was progress.
StateArrays Mixing::export_state() const {
  StateArrays state = with_engine_state(learner_->export_state(), base_.values(), random_);
  if (epoch_ > 0) {
    state["round_weights"] = std::move(state["weights"]);
    state.erase("weights");
  }
  save_progress(progress_, state);
  state["round_epoch"] = std::vector<std::uint64_t>{epoch_};
  return state;
}

void Mixing::import_state(const StateArrays& state) {
  const auto& epoch = state_array<std::uint64_t>(state, "round_epoch");
  if (epoch.size() != 1) throw std::invalid_argument("'round_epoch' of the state is not one number");
  if (options_.inner_epochs > 0 && epoch[0] >= options_.inner_epochs) {
    throw std::invalid_argument("the state is within a round of more than " + std::to_string(options_.inner_epochs) +
                                " epochs");
  }
  const auto& weights = saved_weights(state, epoch[0] > 0 ? "round_weights" : "weights", weights_.size());
  const Random random = restored_random(state);
  auto progress = saved_progress(state, {.shards = shards_.size(),
                                         .dimension = base_.size(),
                                         .averaged = learner_->averaging()->on(),
                                         .within_round = epoch[0] > 0});
  learner_->import_state(state);
  random_ = random;
  epoch_ = epoch[0];
  std::ranges::copy(weights, base_.values().begin());
  std::ranges::copy(weights, weights_.values().begin());
  for (Worker& worker : workers_) std::ranges::copy(weights, worker.weights.values().begin());
  progress_ = std::move(progress);
  PassReport report;
  report.threads.resize(workers_.size());
  mix(report);
}

namespace {

constexpr std::array<Word<MixingShares>, 2> mixing_words{
    {{"uniform", MixingShares::uniform}, {"errors", MixingShares::errors}}};

std::vector<std::vector<std::size_t>> sharded_examples(const OnlineJob& job, const MixingOptions& options) {
  auto shards = make_shards(job.rows, options.shards, options.sharding == Sharding::shuffled, job.order.seed);
  for (auto& shard : shards) shard = examples_of(*job.task, std::move(shard));
  return shards;
}

const EngineRegistration<OnlineLearner, MixingOptions> registered_mixing(
    "mixing",
    {parameter("shards", &MixingOptions::shards), parameter("sharding", &MixingOptions::sharding, sharding_words),
     parameter("mixing", &MixingOptions::mixing, mixing_words),
     parameter("inner_epochs", &MixingOptions::inner_epochs)},
    [](const OnlineJob& job, MixingOptions options) {
      options.order = job.order;
      options.threads = job.threads;
      return std::make_shared<Mixing>(job.task, job.learner, sharded_examples(job, options), options);
    });

}  // namespace

}  // namespace marginloom
