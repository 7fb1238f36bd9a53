#include "engines/mixing.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/stopwatch.hpp"
#include "engines/online_state.hpp"

namespace marginloom {
namespace {

constexpr std::size_t block_size = DirtyBlocks::block_size;

std::size_t block_count(std::size_t dimension) {
  return (dimension + block_size - 1) / block_size;
}

int team_size(int threads, std::size_t shards) {
  return static_cast<int>(std::clamp<std::size_t>(static_cast<std::size_t>(std::max(threads, 1)), 1, shards));
}

// Lets one thread wait for the others and look up from time to time.
class Arrivals {
 public:
  void arrive() {
    const std::lock_guard lock(mutex_);
    ++arrived_;
    changed_.notify_one();
  }
  template <class LookUp>
  void wait_for(int expected, LookUp look_up) {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(50), [&] { return arrived_ >= expected; })) look_up();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
};

}  // namespace

std::vector<std::vector<std::size_t>> make_shards(std::vector<std::size_t> examples, std::size_t count, bool shuffled,
                                                  std::uint64_t seed) {
  if (count == 0) throw std::invalid_argument("there must be a shard");
  std::vector<std::size_t> order(examples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (shuffled) Random(~seed).shuffle(std::span(order));  // not the numbers that passes are shuffled by
  std::vector<std::vector<std::size_t>> shards(count);
  for (std::size_t s = 0; s < count; ++s) {
    const auto part =
        std::span(order).subspan(s * order.size() / count, (s + 1) * order.size() / count - s * order.size() / count);
    std::ranges::sort(part);
    for (const std::size_t j : part) shards[s].push_back(examples[j]);
  }
  return shards;
}

// What the threads share during a pass.
struct Mixing::Pass {
  std::atomic<std::size_t> next{0};   // shard that is not taken yet
  std::atomic<bool> stopping{false};  // by request or after an exception
  StopRequest* stop = nullptr;        // asked by the caller only
  Arrivals arrivals = {};             // of the other threads at the end of their work
};

void Mixing::Learnt::forget() {
  blocks.clear();
  values.clear();
  late.clear();
  ticks = wrong = 0;
  separated = false;
}

Mixing::Worker::Worker(const Task& task, OnlineLearner& settings)
    : weights(task.dimension()), learner(settings.fresh_copy()), scratch(task.make_scratch()), dirty(task.dimension()) {
  if (!learner || !learner->averaging()) throw std::invalid_argument("this learner cannot be mixed");
}

Mixing::Mixing(std::shared_ptr<const Task> task, std::shared_ptr<OnlineLearner> learner,
               std::vector<std::vector<std::size_t>> shards, MixingOptions options)
    : Engine(std::move(task)),
      learner_(std::move(learner)),
      options_(options),
      random_(options.visits.seed),
      base_(task_->dimension()),
      changed_(task_->dimension()),
      team_(team_size(options.threads, std::max<std::size_t>(shards.size(), 1))) {
  if (shards.empty()) throw std::invalid_argument("there must be a shard");
  for (auto& examples : shards) shards_.push_back({.examples = std::move(examples), .learnt = {}, .report = {}});
  for (int thread = 0; thread < team_.size(); ++thread) workers_.emplace_back(*task_, *learner_);
}

PassReport Mixing::do_pass(StopRequest& stop) {
  PassReport report;
  report.threads.resize(static_cast<std::size_t>(team_.size()));
  for (Shard& shard : shards_) shard.random = Random(random_.next());
  Pass pass;
  pass.stop = &stop;
  try {
    team_.run([&](int thread) { work(thread, pass, report.threads[static_cast<std::size_t>(thread)]); });
  } catch (...) {
    if (epoch_ == 0) {
      for (Shard& shard : shards_) shard.learnt.forget();
    }
    throw;
  }
  ++epoch_;
  std::size_t visits = 0;
  for (Shard& shard : shards_) {
    report.inferences += shard.report.inferences;
    report.updates += shard.report.updates;
    report.wrong += shard.report.wrong;
    report.training_loss += shard.report.training_loss;
    visits += shard.learnt.separated ? shard.examples.size() : shard.report.inferences;
  }
  report.training_loss /= static_cast<double>(std::max<std::size_t>(visits, 1));
  report.stopped = pass.stopping;
  mix(report);
  if (epoch_ == options_.inner_epochs) end_round(report);
  return report;
}

void Mixing::work(int thread, Pass& pass, ThreadTime& time) {
  StopRequest* stop = thread == 0 ? pass.stop : nullptr;
  Worker& worker = workers_[static_cast<std::size_t>(thread)];
  try {
    for (std::size_t s; !pass.stopping && (s = pass.next.fetch_add(1, std::memory_order_relaxed)) < shards_.size();) {
      train(worker, shards_[s], pass, stop, time);
    }
  } catch (...) {
    restore(worker);
    pass.stopping = true;
    if (!stop) pass.arrivals.arrive();
    throw;
  }
  if (!stop) return pass.arrivals.arrive();
  pass.arrivals.wait_for(team_.size() - 1, [&] {
    if (stop->stopped()) pass.stopping = true;
  });
}

void Mixing::train(Worker& worker, Shard& shard, Pass& pass, StopRequest* stop, ThreadTime& time) const {
  shard.report = {};
  if (shard.learnt.separated) {
    shard.learnt.ticks += shard.examples.size();
    return;
  }
  Stopwatch watch;
  PassReport& report = shard.report;
  load(worker, shard.learnt);
  time.publishing += watch.lap();
  const FindOptions options = worker.learner->search();  // of learners that can be mixed it never changes
  for (const std::size_t i : pass_order(shard.examples, options_.visits, shard.random)) {
    if (stop && stop->stopped()) pass.stopping = true;
    if (pass.stopping.load(std::memory_order_relaxed)) break;
    worker.found.clear();
    const double violation = task_->find(i, worker.weights.values(), options, *worker.scratch, worker.found);
    ++report.inferences;
    time.inference += watch.lap();
    if (options.loss_scale != 0) report.training_loss += violation / options.loss_scale;
    if (!worker.found.empty()) {
      ++report.wrong;
      if (options.loss_scale == 0) report.training_loss += worker.found[0].loss;
      note_dirty(worker);
    }
    report.updates += worker.learner->step(worker.found, worker.weights.values());
    time.update += watch.lap();
  }
  shard.learnt.wrong += report.wrong;
  shard.learnt.separated = report.wrong == 0 && report.inferences == shard.examples.size();
  store(worker, shard.learnt);
  time.publishing += watch.lap();
}

// Candidates name the weights that a step on them can change; implicit ones do not.
void Mixing::note_dirty(Worker& worker) {
  for (std::size_t k = 0; k < worker.found.size(); ++k) {
    const Candidate candidate = worker.found[k];
    for (const Entry& entry : candidate.difference) worker.dirty.mark(entry.index);
    if (!candidate.implicit || worker.dirty.blocks().size() == block_count(worker.weights.size())) continue;
    for (std::size_t block = 0; block < block_count(worker.weights.size()); ++block) worker.dirty.mark_block(block);
  }
}

void Mixing::load(Worker& worker, const Learnt& learnt) const {
  const auto late = worker.learner->averaging()->late();
  worker.learner->averaging()->set_ticks(learnt.ticks);
  visit(learnt, 0, block_count(base_.size()), [&](std::size_t k, std::size_t stored) {
    worker.weights[k] = learnt.values[stored];
    if (!late.empty()) late[k] = learnt.late[stored];
  });
  for (const std::uint32_t block : learnt.blocks) worker.dirty.mark_block(block);
}

void Mixing::store(Worker& worker, Learnt& learnt) const {
  const auto late = worker.learner->averaging()->late();
  learnt.ticks = worker.learner->averaging()->ticks();
  learnt.blocks.assign(worker.dirty.blocks().begin(), worker.dirty.blocks().end());
  std::ranges::sort(learnt.blocks);
  learnt.values.resize(learnt.blocks.size() * block_size);
  learnt.late.resize(late.empty() ? 0 : learnt.values.size());
  visit(learnt, 0, block_count(base_.size()), [&](std::size_t k, std::size_t stored) {
    learnt.values[stored] = worker.weights[k];
    if (!late.empty()) learnt.late[stored] = late[k];
  });
  restore(worker);
}

void Mixing::restore(Worker& worker) const {
  const auto late = worker.learner->averaging()->late();
  for (const std::uint32_t block : worker.dirty.blocks()) {
    const std::size_t first = block * block_size;
    const std::size_t last = std::min(first + block_size, base_.size());
    for (std::size_t k = first; k < last; ++k) {
      worker.weights[k] = base_[k];
      if (!late.empty()) late[k] = 0;
    }
  }
  worker.dirty.clear();
}

// Calls visit(k, place of k in values) for the weights of a shard in blocks begin ... end - 1.
template <class Visit>
void Mixing::visit(const Learnt& learnt, std::size_t begin, std::size_t end, Visit visit) const {
  const auto first = std::ranges::lower_bound(learnt.blocks, begin);
  for (auto block = first; block != learnt.blocks.end() && *block < end; ++block) {
    const std::size_t stored = static_cast<std::size_t>(block - learnt.blocks.begin()) * block_size;
    const std::size_t k = *block * block_size;
    const std::size_t size = std::min(block_size, base_.size() - k);
    for (std::size_t j = 0; j < size; ++j) visit(k + j, stored + j);
  }
}

// mu
std::vector<double> Mixing::shares() const {
  std::uint64_t wrong = 0;
  for (const Shard& shard : shards_) wrong += shard.learnt.wrong;
  std::vector<double> result(shards_.size(), 1 / static_cast<double>(shards_.size()));
  if (!options_.by_errors || wrong == 0) return result;
  for (std::size_t s = 0; s < shards_.size(); ++s) {
    result[s] = static_cast<double>(shards_[s].learnt.wrong) / static_cast<double>(wrong);
  }
  return result;
}

std::uint64_t Mixing::ticks() const {
  std::uint64_t sum = learner_->averaging()->ticks();
  for (const Shard& shard : shards_) sum += shard.learnt.ticks;
  return sum;
}

// Calls part(begin, end) for consecutive blocks on all threads.
template <class Part>
void Mixing::in_parts(const Part& part, PassReport& report) {
  const std::size_t blocks = block_count(base_.size());
  const auto threads = static_cast<std::size_t>(team_.size());
  team_.run([&](int thread) {
    Stopwatch watch;
    const auto t = static_cast<std::size_t>(thread);
    part(t * blocks / threads, (t + 1) * blocks / threads);
    report.threads[t].publishing += watch.lap();
  });
}

// The weights as they are if the round ends now.
void Mixing::mix(PassReport& report) {
  const auto mu = shares();
  const auto w = weights_.values();
  in_parts(
      [&](std::size_t begin, std::size_t end) {
        for (const Shard& shard : shards_) {
          visit(shard.learnt, begin, end, [&](std::size_t k, std::size_t) { w[k] = base_[k]; });
        }
        for (std::size_t s = 0; s < shards_.size(); ++s) {
          const Learnt& learnt = shards_[s].learnt;
          visit(learnt, begin, end,
                [&](std::size_t k, std::size_t stored) { w[k] += mu[s] * (learnt.values[stored] - base_[k]); });
        }
      },
      report);
}

// Puts the shards' averages into the learner's and makes the mixed weights the start of the next round.
void Mixing::end_round(PassReport& report) {
  const auto mu = shares();
  const auto late = learner_->averaging()->late();
  const std::uint64_t total = ticks();
  if (!late.empty()) {
    in_parts(
        [&](std::size_t begin, std::size_t end) {
          for (std::size_t s = 0; s < shards_.size(); ++s) {
            const Learnt& learnt = shards_[s].learnt;
            const double factor = static_cast<double>(total) * mu[s] - static_cast<double>(learnt.ticks);
            visit(learnt, begin, end, [&](std::size_t k, std::size_t stored) {
              late[k] += factor * (learnt.values[stored] - base_[k]) + learnt.late[stored];
            });
          }
        },
        report);
  }
  learner_->averaging()->set_ticks(total);
  start_round(report);
}

void Mixing::start_round(PassReport& report) {
  epoch_ = 0;
  Stopwatch watch;
  for (Shard& shard : shards_) {
    for (const std::uint32_t block : shard.learnt.blocks) changed_.mark_block(block);
    shard.learnt.forget();
  }
  const auto copy_changes = [&](std::span<const double> from, std::span<double> to) {
    for (const std::uint32_t block : changed_.blocks()) {
      const std::size_t first = block * block_size;
      std::ranges::copy(from.subspan(first, std::min(block_size, from.size() - first)),
                        to.begin() + static_cast<std::ptrdiff_t>(first));
    }
  };
  copy_changes(weights_.values(), base_.values());
  report.threads.front().publishing += watch.lap();
  team_.run([&](int thread) {
    Stopwatch own;
    copy_changes(base_.values(), workers_[static_cast<std::size_t>(thread)].weights.values());
    report.threads[static_cast<std::size_t>(thread)].publishing += own.lap();
  });
  changed_.clear();
}

void Mixing::final_weights(std::span<double> result) const {
  const auto total = static_cast<double>(ticks());
  if (epoch_ == 0 || !learner_->averaging()->on() || total == 0) {
    learner_->final_weights(weights_.values(), result);
    return;
  }
  const auto all = block_count(base_.size());
  if (options_.inner_epochs == 0) {
    const auto mu = shares();
    std::ranges::copy(base_.values(), result.begin());
    for (std::size_t s = 0; s < shards_.size(); ++s) {
      const Learnt& learnt = shards_[s].learnt;
      if (learnt.ticks == 0) continue;
      const auto own = static_cast<double>(learnt.ticks);
      visit(learnt, 0, all, [&](std::size_t k, std::size_t stored) {
        result[k] += mu[s] * (learnt.values[stored] - base_[k] - learnt.late[stored] / own);
      });
    }
    return;
  }
  const auto late = learner_->averaging()->late();
  for (std::size_t k = 0; k < result.size(); ++k) result[k] = total * base_[k] - late[k];
  for (const Shard& shard : shards_) {
    const Learnt& learnt = shard.learnt;
    visit(learnt, 0, all, [&](std::size_t k, std::size_t stored) {
      result[k] += static_cast<double>(learnt.ticks) * (learnt.values[stored] - base_[k]) - learnt.late[stored];
    });
  }
  for (double& value : result) value /= total;
}

// In the middle of a round the weights have another name, so that no other engine takes them for what was learnt.
StateArrays Mixing::export_state() const {
  StateArrays state = with_engine_state(learner_->export_state(), base_.values(), random_);
  if (epoch_ > 0) {
    state["round_weights"] = std::move(state["weights"]);
    state.erase("weights");
  }
  std::vector<std::uint64_t> numbers;
  std::vector<std::uint64_t> blocks;
  std::vector<double> values;
  std::vector<double> late;
  for (const Shard& shard : shards_) {
    const Learnt& learnt = shard.learnt;
    numbers.insert(numbers.end(), {learnt.blocks.size(), learnt.ticks, learnt.wrong, learnt.separated ? 1U : 0U});
    blocks.insert(blocks.end(), learnt.blocks.begin(), learnt.blocks.end());
    values.insert(values.end(), learnt.values.begin(), learnt.values.end());
    late.insert(late.end(), learnt.late.begin(), learnt.late.end());
  }
  state["round_epoch"] = std::vector<std::uint64_t>{epoch_};
  state["shard_numbers"] = std::move(numbers);
  state["shard_blocks"] = std::move(blocks);
  state["shard_values"] = std::move(values);
  state["shard_late"] = std::move(late);
  return state;
}

std::vector<Mixing::Learnt> Mixing::saved_shards(const StateArrays& state) const {
  const auto& numbers = state_array<std::uint64_t>(state, "shard_numbers");
  const auto& blocks = state_array<std::uint64_t>(state, "shard_blocks");
  const auto& values = state_array<double>(state, "shard_values");
  const auto& late = state_array<double>(state, "shard_late");
  if (numbers.size() != 4 * shards_.size()) {
    throw std::invalid_argument("the state has " + std::to_string(numbers.size() / 4) + " shards, and now there are " +
                                std::to_string(shards_.size()) + "; give that number of shards");
  }
  const bool averaged = learner_->averaging()->on();
  if (values.size() != blocks.size() * block_size || late.size() != (averaged ? values.size() : 0) ||
      !all_finite(values) || !all_finite(late)) {
    throw std::invalid_argument("'shard_values' of the state do not fit");
  }
  std::vector<Learnt> result(shards_.size());
  std::size_t begin = 0;
  for (std::size_t s = 0; s < result.size(); ++s) {
    const std::size_t count = numbers[4 * s];
    if (count > blocks.size() - begin) throw std::invalid_argument("'shard_blocks' of the state do not fit");
    const auto own = std::span(blocks).subspan(begin, count);
    const auto at = [&](const std::vector<double>& all) {
      return all.empty() ? std::vector<double>()
                         : std::vector<double>(all.begin() + static_cast<std::ptrdiff_t>(begin * block_size),
                                               all.begin() + static_cast<std::ptrdiff_t>((begin + count) * block_size));
    };
    if (!std::ranges::is_sorted(own, std::ranges::less_equal()) ||
        (count > 0 && own.back() >= block_count(base_.size()))) {
      throw std::invalid_argument("'shard_blocks' of the state do not fit");
    }
    Learnt& learnt = result[s];
    learnt.blocks.assign(own.begin(), own.end());
    learnt.values = at(values);
    learnt.late = at(late);
    learnt.ticks = numbers[4 * s + 1];
    learnt.wrong = numbers[4 * s + 2];
    learnt.separated = numbers[4 * s + 3] != 0;
    begin += count;
  }
  if (begin != blocks.size()) throw std::invalid_argument("'shard_blocks' of the state do not fit");
  return result;
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
  auto shards = saved_shards(state);
  learner_->import_state(state);
  random_ = random;
  epoch_ = epoch[0];
  std::ranges::copy(weights, base_.values().begin());
  std::ranges::copy(weights, weights_.values().begin());
  for (Worker& worker : workers_) std::ranges::copy(weights, worker.weights.values().begin());
  for (std::size_t s = 0; s < shards_.size(); ++s) shards_[s].learnt = std::move(shards[s]);
  PassReport report;
  report.threads.resize(workers_.size());
  mix(report);
}

}  // namespace marginloom
