#include "engines/minibatch.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/stopwatch.hpp"
#include "engines/registered_engine.hpp"

namespace marginloom {

Minibatch::Minibatch(std::shared_ptr<const Task> task, std::shared_ptr<OnlineLearner> learner,
                     std::vector<std::size_t> examples, MinibatchOptions options)
    : OnlineEngine(std::move(task), std::move(learner), options.order.seed),
      examples_(std::move(examples)),
      options_(options),
      searches_(std::min(options.batch_size, std::max<std::size_t>(examples_.size(), 1))),
      works_(searches_.size()),
      team_(std::clamp(options.threads, 1, static_cast<int>(std::min<std::size_t>(searches_.size(), 1 << 20)))) {
  for (int thread = 0; thread < team_.size(); ++thread) scratches_.push_back(task_->make_scratch());
  plan_.reserve(searches_.size());
}

void Minibatch::search_pass(PassReport& report, StopRequest& stop) {
  report.threads.resize(static_cast<std::size_t>(team_.size()));
  ThreadTime& own = report.threads.front();
  Stopwatch watch;
  if (!learner_->prepare(examples_, random_, stop)) {
    report.stopped = true;
    return;
  }
  own.inference += watch.lap();
  const auto order = pass_order(examples_, options_.order, random_);
  std::span<const std::size_t> batch;
  FindOptions options;
  const std::function<void(int)> work = [&](int thread) {  // made once: a function object this large is allocated
    search(thread, batch, options, report.threads[static_cast<std::size_t>(thread)]);
  };
  for (std::size_t begin = 0; begin < order.size(); begin += searches_.size()) {
    if (stop.stopped()) {
      report.stopped = true;
      break;
    }
    batch = std::span(order).subspan(begin, std::min(searches_.size(), order.size() - begin));
    options = learner_->search();
    plan(batch);
    own.update += watch.lap();
    team_.share(work);
    if (told_to_stop()) {
      report.stopped = true;
      break;
    }
    watch.lap();  // search() has counted it
    gather(batch.size(), options, report);
    report.updates += learner_->step(candidates_, weights_.values());
    own.update += watch.lap();
  }
}

// The longest first, each taken by the first thread that is free. By lengths of sentences of conll2000, threads wait
// less than by the paper's scheme (the shortest with the longest, dealt out beforehand): 9.7 % instead of 13.3 % for 16
// examples and 8 threads, 10.8 % instead of 15.3 % for 24 and 12.
void Minibatch::plan(std::span<const std::size_t> batch) {
  plan_.resize(batch.size());
  for (std::size_t position = 0; position < batch.size(); ++position) plan_[position] = position;
  next_.store(0, std::memory_order_relaxed);
  if (team_.size() == 1) return;
  for (std::size_t position = 0; position < batch.size(); ++position) works_[position] = task_->work(batch[position]);
  std::ranges::sort(plan_, [this](std::size_t one, std::size_t other) { return works_[one] > works_[other]; });
}

void Minibatch::search(int thread, std::span<const std::size_t> batch, const FindOptions& options, ThreadTime& time) {
  Stopwatch watch;
  Scratch& scratch = *scratches_[static_cast<std::size_t>(thread)];
  for (;;) {
    const std::size_t turn = next_.fetch_add(1, std::memory_order_relaxed);
    if (turn >= plan_.size() || told_to_stop()) break;
    const std::size_t position = plan_[turn];
    Search& search = searches_[position];
    search.found.clear();
    try {
      search.violation = task_->find(batch[position], weights_.values(), options, scratch, search.found);
    } catch (...) {
      next_ = plan_.size();  // nothing that others find is used
      throw;
    }
  }
  time.inference += watch.lap();
}

// Puts the candidates together in the order of the batch.
void Minibatch::gather(std::size_t batch_size, const FindOptions& options, PassReport& report) {
  candidates_.clear();
  for (const Search& search : std::span(searches_).first(batch_size)) {
    const CandidateBatch& found = search.found;
    count_search(options, search.violation, found, report);
    for (std::size_t k = 0; k < found.size(); ++k) candidates_.accept(found[k]);
  }
}

namespace {

const EngineRegistration<OnlineLearner, MinibatchOptions> registered_minibatch(
    "minibatch", {parameter("batch_size", &MinibatchOptions::batch_size)},
    [](const OnlineJob& job, MinibatchOptions options) {
      options.order = job.order;
      options.threads = job.threads;
      return std::make_shared<Minibatch>(job.task, job.learner, job.examples(), options);
    });

}  // namespace

}  // namespace marginloom
