#include "engines/mixing.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/stopwatch.hpp"
#include "engines/engine_state.hpp"
#include "engines/registered_engine.hpp"
#include "learners/averaging.hpp"

namespace marginloom {
namespace {

int team_size(int threads, std::size_t shards) {
  return static_cast<int>(std::clamp<std::size_t>(static_cast<std::size_t>(std::max(threads, 1)), 1, shards));
}

}  // namespace

Mixing::Mixing(std::shared_ptr<const Task> task, std::shared_ptr<OnlineLearner> learner, Shards shards,
               MixingOptions options)
    : OnlineEngine(std::move(task), std::move(learner), options.order.seed),
      shards_(std::move(shards)),
      progress_(shards_.size()),
      options_(options),
      base_(task_->dimension()),
      changed_(task_->dimension()),
      team_(team_size(options.threads, std::max<std::size_t>(shards_.size(), 1))),
      training_(task_, *learner_, team_) {
  if (shards_.empty()) throw std::invalid_argument("there must be a shard");
}

void Mixing::search_pass(PassReport& report, StopRequest& stop) {
  report.threads.resize(static_cast<std::size_t>(team_.size()));
  std::vector<ShardTurn> turns;
  std::vector<std::size_t> separated;  // before the pass
  for (std::size_t s = 0; s < shards_.size(); ++s) {
    const Random random(random_.next());
    if (progress_[s].separated) {
      separated.push_back(s);
    } else {
      turns.push_back({.shard = s, .random = random, .progress = &progress_[s]});
    }
  }
  report.stopped = !train(turns, report.threads, stop);
  ++epoch_;
  for (const std::size_t s : separated) {
    progress_[s].ticks += shards_[s].size();
    known_right_ += shards_[s].size();
  }
  for (const ShardTurn& turn : turns) {
    report.inferences += turn.report.inferences;
    report.updates += turn.report.updates;
    report.wrong += turn.report.wrong;
    report.training_loss += turn.report.training_loss;
  }
  mix(report);
  if (epoch_ == options_.inner_epochs) end_round(report);
}

bool Mixing::train(std::span<ShardTurn> turns, std::span<ThreadTime> threads, StopRequest& stop) {
  try {
    if (!world()) return training_.train(shards_, turns, base_.values(), options_.order, threads, stop);
    Stopwatch watch;
    training_.forget_base();  // which the parts are told
    ask_to_train(*world(), *task_, shards_, turns, base_.values(), learner_->averaging()->on());
    threads.front().waiting += watch.lap();
    return true;
  } catch (...) {
    if (epoch_ == 0) {
      for (ShardProgress& progress : progress_) progress.forget();
    }
    throw;
  }
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
    changed_.copy(begin, end, base_.values(), weights_.values());
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
    changed_.copy(begin, end, weights_.values(), base_.values());
  };
  in_parts(end_part, report);
  learner_->averaging()->set_ticks(total);
  start_round(report);
}

void Mixing::start_round(PassReport& report) {
  epoch_ = 0;
  for (ShardProgress& progress : progress_) progress.forget();
  on_all_threads([&](std::size_t thread) { training_.follow(thread, base_.values(), changed_); }, report);
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
  training_.forget_base();
  progress_ = std::move(progress);
  PassReport report;
  report.threads.resize(static_cast<std::size_t>(team_.size()));
  mix(report);
}

namespace {

constexpr std::array<Word<MixingShares>, 2> mixing_words{
    {{"uniform", MixingShares::uniform}, {"errors", MixingShares::errors}}};

Shards sharded_examples(const OnlineJob& job, const MixingOptions& options) {
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
    },
    nullptr,
    [](const OnlineJob& job, const MixingOptions& options) {
      return std::make_shared<ShardPart>(job.task, *job.learner, sharded_examples(job, options), job.order,
                                         team_size(job.threads, options.shards));
    });

}  // namespace

}  // namespace marginloom
