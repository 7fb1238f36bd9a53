#include "engines/master_worker.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/stopwatch.hpp"
#include "engines/registered_engine.hpp"

namespace marginloom {

MasterWorker::MasterWorker(std::shared_ptr<const Task> task, std::shared_ptr<BlockLearner> learner,
                           std::vector<std::size_t> examples, OrderOptions order, MasterWorkerOptions options)
    : DualEngine(std::move(task), std::move(learner), std::move(examples), order),
      parallel_(options),
      team_(std::max(options.threads, options.learners)),
      searching_(*task_, team_) {
  if (parallel_.learners <= 1) return;
  if (!learner_->schedule().solves_single_copies()) {
    throw std::invalid_argument("steps of this learner cannot be made by several threads side by side");
  }
  const auto learners = static_cast<std::size_t>(parallel_.learners);
  for (std::size_t k = 0; k < learners; ++k) learning_.emplace_back(*learner_, skipped_);
  safeguard_ = std::make_unique<Safeguard>(*learner_, learners, learners);
}

void MasterWorker::search_pass(PassReport& report, StopRequest& stop) {
  report.threads.resize(static_cast<std::size_t>(team_.size()));
  Stopwatch watch;
  const auto order = order_of_pass();
  const auto all = std::span<const std::size_t>(order);
  if (!alone()) begin_learning();
  if (world()) {  // what has happened since the last pass is not known
    if (!changed_) changed_ = std::make_unique<ChangedWeights>(task_->dimension());
    changed_->mark_all();
  }
  report.threads.front().update += watch.lap();
  const std::size_t rounds = std::clamp<std::size_t>(parallel_.rounds, 1, std::max<std::size_t>(all.size(), 1));
  for (std::size_t round = 0; round < rounds && !report.stopped; ++round) {
    const std::size_t begin = round * all.size() / rounds;
    const auto examples = all.subspan(begin, (round + 1) * all.size() / rounds - begin);
    report.stopped = !search_and_learn(examples, report, stop);
  }
  if (!alone()) end_learning(report, stop);
}

bool MasterWorker::search_and_learn(std::span<const std::size_t> examples, PassReport& report, StopRequest& stop) {
  const auto options = [&](std::size_t j) { return learner_->search(examples[j]); };
  const auto learn_these = [&](std::size_t first, std::size_t last) {
    return learn(first, examples.subspan(first, last - first), report, stop);
  };
  return searching_.search(world(), examples, weights_.values(), changed_.get(), options, found_, learn_these,
                           report.threads, stop);
}

bool MasterWorker::learn(std::size_t first, std::span<const std::size_t> examples, PassReport& report,
                         StopRequest& stop) {
  if (alone()) {
    Stopwatch watch;
    const bool whole = take_in(examples, {first}, worker_, {weights_.values(), marking_writer(), 1, stop});
    report.threads.front().update += watch.lap();
    return whole;
  }
  const auto take_share = [&](std::size_t number, const Access& access) {
    LearningThread& learning = learning_[number];
    const std::size_t begin = learning.examples.size();
    for (std::size_t j = number; j < examples.size(); j += learning_.size()) learning.examples.push_back(examples[j]);
    learning.worker.examples = learning.examples;
    (void)take_in(learning.worker.examples.subspan(begin), {first, number, learning_.size()}, learning.worker, access);
  };
  if (changed_) changed_->mark_all();
  return on_learners(take_share, report, stop);
}

// Implicit differences are added by whole rows, which is not the same to the last bit as by single weights.
WeightWriter MasterWorker::marking_writer() {
  WeightWriter writer{weights_.values().data()};
  if (!world()) return writer;
  if (task_->implicit()) {
    changed_->mark_all();
  } else {
    writer.changed = changed_.get();
  }
  return writer;
}

bool MasterWorker::take_in(std::span<const std::size_t> examples, Share share, Worker& worker, const Access& access) {
  for (std::size_t j = 0; j < examples.size(); ++j) {
    learner_->prefetch(examples.subspan(j + 1), access.weights);
    if (safeguard_) safeguard_->note(examples[j], share.number);
    const auto give = [&](auto& sink) { return found_.give(share.first + share.number + j * share.of, sink); };
    const Found found = worker.find(examples[j], give);
    worker.note(found);
    worker.improve(found, access);
    if (j % 64 == 0 && access.stop.stopped()) return false;
  }
  return true;
}

void MasterWorker::inner_passes(PassReport& report, StopRequest& stop) {
  if (alone()) DualEngine::inner_passes(report, stop);  // those of several learners were part of the search pass
}

void MasterWorker::begin_learning() {
  safeguard_->begin(weights_.values(), examples_, worker_.random);
  for (LearningThread& learning : learning_) {
    learning.examples.clear();
    learning.worker.examples = {};
    learning.worker.begin(worker_.random);
    learning.worker.visit.asked.damping = safeguard_->damping();
  }
  ending_ = false;
}

bool MasterWorker::on_learners(const std::function<void(std::size_t, const Access&)>& work, PassReport& report,
                               StopRequest& stop) {
  team_.run([&](int thread) {
    const auto number = static_cast<std::size_t>(thread);
    if (number >= learning_.size()) return;
    // Only the calling thread may ask the owner; the others ask whether it was told to end.
    StopRequest ending([this] { return ending_.load(std::memory_order_relaxed) || told_to_stop(); });
    StopRequest& own = number == 0 ? stop : ending;
    Stopwatch watch;
    try {
      work(number, {weights_.values(), {weights_.values().data(), true}, parallel_.learners, own});
    } catch (...) {
      ending_ = true;
      throw;
    }
    if (own.stopped()) ending_ = true;
    report.threads[number].update += watch.lap();
  });
  return !ending_;
}

// The inner passes of every thread over its own examples, and the counts of the pass.
void MasterWorker::end_learning(PassReport& report, StopRequest& stop) {
  const bool averages = learner_->schedule().averaged;
  const auto pass_over_own = [&](std::size_t number, const Access& access) {
    Worker& worker = learning_[number].worker;
    const auto after_pass = [&](std::size_t updates) {  // the others change as many, more or less
      if (averages && number == 0) average_.note(weights_.values(), updates * learning_.size());
    };
    worker.inner_passes(options_.shuffle, access, after_pass);
    if (!access.stop.stopped()) worker.end_part(access);
  };
  if (!report.stopped) report.stopped = !on_learners(pass_over_own, report, stop);
  for (LearningThread& learning : learning_) collect(learning.worker, report);
}

double MasterWorker::check(double squared_norm, bool whole_pass) {
  if (!safeguard_) return squared_norm;
  double expected = 0;
  for (const LearningThread& learning : learning_) expected += learning.worker.gain;
  return safeguard_->check(squared_norm, expected, whole_pass, weights_.values());
}

void MasterWorker::import_state(const StateArrays& state) {
  DualEngine::import_state(state);
  if (safeguard_) safeguard_->forget();
}

namespace {

const EngineRegistration<BlockLearner, MasterWorkerOptions> registered_master_worker(
    "master-worker",
    {parameter("rounds", &MasterWorkerOptions::rounds), parameter("learners", &MasterWorkerOptions::learners)},
    [](const BlockJob& job, MasterWorkerOptions options) {
      options.threads = job.threads;
      return std::make_shared<MasterWorker>(job.task, job.learner, job.examples(), job.order, options);
    },
    nullptr,
    [](const BlockJob& job, const MasterWorkerOptions&) {
      return std::make_shared<SearchPart>(job.task, job.threads);
    });

}  // namespace

}  // namespace marginloom
