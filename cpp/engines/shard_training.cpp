#include "engines/shard_training.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>

#include "core/stopwatch.hpp"
#include "engines/online_engine.hpp"
#include "learners/averaging.hpp"

namespace marginloom {
namespace {

constexpr const char* question_of_shards = "train";
constexpr std::size_t counts_each = 3;  // of a shard in an answer: inferences, updates and wrong examples

// Candidates name the weights that a step on them can change; implicit ones do not.
void mark_touched(const CandidateBatch& found, TouchedWeights& touched) {
  for (std::size_t k = 0; k < found.size(); ++k) {
    const Candidate candidate = found[k];
    for (const Entry& entry : candidate.difference) touched.mark(entry.index);
    if (candidate.implicit) touched.mark_all();
  }
}

void write_progress(std::span<const ShardTurn> turns, StateArrays& arrays) {
  std::vector<const ShardProgress*> progress;
  for (const ShardTurn& turn : turns) progress.push_back(turn.progress);
  save_progress(progress, arrays);
}

[[nodiscard]] std::vector<ShardProgress> progress_in(const ArrayViews& arrays, std::size_t shards, const Task& task,
                                                     bool averaged) {
  const auto numbers = array_of<std::uint64_t>(arrays, "shard_progress", ShardProgress::numbers * shards);
  return read_progress(numbers, array_of<std::uint8_t>(arrays, "shard_deltas"), task.dimension(), averaged);
}

// Whether this is what a whole pass over a shard of so many examples leads to.
[[nodiscard]] bool follows(const ShardProgress& after, const ShardProgress& before, const PassReport& report,
                           std::size_t examples) {
  return report.inferences == examples && report.wrong <= examples && std::isfinite(report.training_loss) &&
         after.ticks == before.ticks + examples && after.wrong == before.wrong + report.wrong &&
         after.separated == (report.wrong == 0);
}

}  // namespace

// What the threads share during a pass.
struct ShardTraining::Pass {
  const Shards& shards;
  std::span<ShardTurn> turns;
  WeightView base;
  const OrderOptions& order;
  std::atomic<std::size_t> next{0};   // turn that is not taken yet
  std::atomic<bool> stopping{false};  // by request or after an exception
};

ShardTraining::Worker::Worker(const Task& task, OnlineLearner& settings)
    : weights(task.dimension()),
      learner(settings.fresh_copy()),
      scratch(task.make_scratch()),
      touched(task.dimension()) {
  if (!learner || !learner->averaging()) throw std::invalid_argument("this learner cannot be mixed");
}

ShardTraining::ShardTraining(std::shared_ptr<const Task> task, OnlineLearner& settings, Team& team)
    : task_(std::move(task)), team_(team) {
  for (int thread = 0; thread < team_.size(); ++thread) workers_.emplace_back(*task_, settings);
}

bool ShardTraining::train(const Shards& shards, std::span<ShardTurn> turns, WeightView base, const OrderOptions& order,
                          std::span<ThreadTime> threads, StopRequest& stop) {
  Pass pass{.shards = shards, .turns = turns, .base = base, .order = order};
  team_.run([&](int thread) {
    const auto number = static_cast<std::size_t>(thread);
    work(workers_[number], pass, thread == 0 ? &stop : nullptr, threads[number]);  // asked by the caller only
  });
  return !pass.stopping;
}

void ShardTraining::work(Worker& worker, Pass& pass, StopRequest* stop, ThreadTime& time) const {
  try {
    for (std::size_t k;
         !pass.stopping && (k = pass.next.fetch_add(1, std::memory_order_relaxed)) < pass.turns.size();) {
      train(worker, pass.turns[k], pass, stop, time);
    }
  } catch (...) {
    restore(worker, pass.base);
    pass.stopping = true;
    throw;
  }
}

void ShardTraining::train(Worker& worker, ShardTurn& turn, Pass& pass, StopRequest* stop, ThreadTime& time) const {
  Stopwatch watch;
  const std::vector<std::size_t>& examples = pass.shards[turn.shard];
  PassReport& report = turn.report;
  if (!std::exchange(worker.has_base, true)) std::ranges::copy(pass.base, worker.weights.values().begin());
  load(worker, *turn.progress);
  time.publishing += watch.lap();
  const FindOptions options = worker.learner->search();  // of learners that can be mixed it never changes
  for (const std::size_t i : pass_order(examples, pass.order, turn.random)) {
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
  turn.progress->wrong += report.wrong;
  turn.progress->separated = report.wrong == 0 && report.inferences == examples.size();
  store(worker, pass.base, *turn.progress);
  time.publishing += watch.lap();
}

void ShardTraining::load(Worker& worker, const ShardProgress& progress) const {
  Averaging& average = *worker.learner->averaging();
  progress.weights.apply(*task_, worker.weights.values());
  progress.late.apply(*task_, average.late());
  average.set_ticks(progress.ticks);
  for (const WeightIndex k : progress.weights.indices()) worker.touched.mark(k);
  for (const WeightIndex k : progress.late.indices()) worker.touched.mark(k);
}

void ShardTraining::store(Worker& worker, WeightView base, ShardProgress& progress) {
  Averaging& average = *worker.learner->averaging();
  const auto late = average.late();
  progress.weights.clear();
  progress.late.clear();
  progress.ticks = average.ticks();
  worker.touched.for_each_run([&](std::size_t first, std::size_t last) {
    for (std::size_t k = first; k < last; ++k) {
      const double change = worker.weights[k] - base[k];
      if (change != 0) progress.weights.add(static_cast<WeightIndex>(k), change);
      if (!late.empty() && late[k] != 0) progress.late.add(static_cast<WeightIndex>(k), late[k]);
    }
  });
  restore(worker, base);
}

void ShardTraining::restore(Worker& worker, WeightView base) {
  const auto late = worker.learner->averaging()->late();
  worker.touched.copy(0, base.size(), base, worker.weights.values());
  worker.touched.for_each_run([&](std::size_t first, std::size_t last) {
    if (!late.empty()) std::ranges::fill(late.subspan(first, last - first), 0.0);
  });
  worker.touched.clear();
}

void ShardTraining::follow(std::size_t thread, WeightView base, const TouchedWeights& changed) {
  Worker& worker = workers_[thread];
  if (worker.has_base) changed.copy(0, base.size(), base, worker.weights.values());
}

void ShardTraining::forget_base() {
  for (Worker& worker : workers_) worker.has_base = false;
}

void ask_to_train(World& world, const Task& task, const Shards& shards, std::span<ShardTurn> turns, WeightView base,
                  bool averaged) {
  std::vector<double> work(turns.size());
  for (std::size_t k = 0; k < turns.size(); ++k) {
    for (const std::size_t i : shards[turns[k].shard]) work[k] += task.work(i);
  }
  const auto cuts = cut_by_work(work, world.parts());
  const auto share = [&](std::size_t part) { return turns.subspan(cuts[part], cuts[part + 1] - cuts[part]); };
  std::vector<StateArrays> own(world.parts());
  for (std::size_t part = 0; part < own.size(); ++part) {
    std::vector<std::uint64_t> numbers;
    std::vector<std::uint64_t> seeds;
    for (const ShardTurn& turn : share(part)) {
      numbers.push_back(turn.shard);
      seeds.push_back(turn.random.state());
    }
    own[part] = {{"shards", std::move(numbers)}, {"seeds", std::move(seeds)}};
    write_progress(share(part), own[part]);
  }
  const auto answers = all_answers(world, question_of_shards, {{"weights", base}}, {}, std::move(own));
  std::vector<ShardProgress> learnt;
  take_answers(question_of_shards, answers, [&](std::size_t part, const ArrayViews& answer) {
    const auto asked = share(part);
    const auto counts = array_of<std::uint64_t>(answer, "counts", counts_each * asked.size());
    const auto losses = array_of<double>(answer, "losses", asked.size());
    auto progress = progress_in(answer, asked.size(), task, averaged);
    for (std::size_t k = 0; k < asked.size(); ++k) {
      PassReport& report = asked[k].report;
      report.inferences = counts[counts_each * k];
      report.updates = counts[counts_each * k + 1];
      report.wrong = counts[counts_each * k + 2];
      report.training_loss = losses[k];
      if (!follows(progress[k], *asked[k].progress, report, shards[asked[k].shard].size())) {
        throw std::invalid_argument("it is not what a pass over its shards leads to");
      }
    }
    std::ranges::move(progress, std::back_inserter(learnt));
  });
  for (std::size_t k = 0; k < turns.size(); ++k) *turns[k].progress = std::move(learnt[k]);
}

ShardPart::ShardPart(std::shared_ptr<const Task> task, OnlineLearner& settings, Shards shards, OrderOptions order,
                     int threads)
    : Part(std::move(task), threads),
      shards_(std::move(shards)),
      order_(order),
      averaged_(settings.averaging() && settings.averaging()->on()),
      team_(threads),
      training_(task_, settings, team_) {}

bool ShardPart::answer_engine(const std::string& question, const ArrayViews& common, const ArrayViews& own,
                              StateArrays& answer, StopRequest& stop) {
  if (question != question_of_shards) return false;
  const WeightView base = weights_of(common, *task_);
  const auto numbers = array_of<std::uint64_t>(own, "shards");
  const auto seeds = array_of<std::uint64_t>(own, "seeds", numbers.size());
  auto progress = progress_in(own, numbers.size(), *task_, averaged_);
  std::vector<ShardTurn> turns;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    if (numbers[k] >= shards_.size()) throw std::invalid_argument("there is no shard " + std::to_string(numbers[k]));
    turns.push_back({.shard = numbers[k], .random = Random(seeds[k]), .progress = &progress[k]});
  }
  std::vector<ThreadTime> threads(static_cast<std::size_t>(team_.size()));
  training_.forget_base();
  if (!training_.train(shards_, turns, base, order_, threads, stop)) throw Interrupted();
  std::vector<std::uint64_t> counts;
  std::vector<double> losses;
  for (const ShardTurn& turn : turns) {
    counts.insert(counts.end(), {turn.report.inferences, turn.report.updates, turn.report.wrong});
    losses.push_back(turn.report.training_loss);
  }
  answer["counts"] = std::move(counts);
  answer["losses"] = std::move(losses);
  answer["seconds"] = seconds_of_work(threads);
  write_progress(turns, answer);
  return true;
}

}  // namespace marginloom
