#include "engines/decoupled.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "core/stopwatch.hpp"
#include "engines/registered_engine.hpp"

namespace marginloom {
namespace {

constexpr std::size_t batches_each = 2;    // one to fill while the other is on its way
constexpr std::size_t searches_each = 16;  // in a batch

void prefetch_weights(const Block& block, WeightView w) {
  constexpr std::size_t most = 1024;
  const auto support = block.support();
  for (const WeightIndex k : support.first(std::min(support.size(), most))) prefetch_line(&w[k]);
}

}  // namespace

Decoupled::Decoupled(std::shared_ptr<const Task> task, std::shared_ptr<BlockLearner> learner,
                     std::vector<std::size_t> examples, OrderOptions order, DecoupledOptions options)
    : DualEngine(std::move(task), std::move(learner), std::move(examples), order),
      parallel_(std::move(options)),
      team_(std::max(parallel_.threads, 2)),
      snapshots_(task_, static_cast<std::size_t>(team_.size()) - 1),
      away_(task_->size(), 0) {
  if (!learner_->schedule().solves_single_copies()) {
    throw std::invalid_argument("this learner cannot be decoupled from inference");
  }
  const auto threads = static_cast<std::size_t>(team_.size());
  for (std::size_t k = 0; k < threads; ++k) {
    searchers_.push_back({.worker = new_worker()});
    searchers_.back().worker.prepare();
  }
  const auto learners = std::clamp<std::size_t>(static_cast<std::size_t>(parallel_.learners), 1, threads - 1);
  for (std::size_t k = 0; k < learners; ++k) {
    learning_.emplace_back(new_worker(), k, threads, batches_each);
  }
  if (!alone()) safeguard_ = std::make_unique<Safeguard>(*learner_, threads, learners);
}

std::optional<Certificate> Decoupled::do_certify(int threads, StopRequest& stop) {
  outdated_ = true;
  return DualEngine::do_certify(threads, stop);
}

void Decoupled::import_state(const StateArrays& state) {
  outdated_ = true;
  DualEngine::import_state(state);
  if (safeguard_) safeguard_->forget();
}

void Decoupled::search_pass(PassReport& report, StopRequest& stop) {
  report.threads.resize(static_cast<std::size_t>(team_.size()));
  order_ = order_of_pass();
  taken_ = 0;
  for (Searcher& searcher : searchers_) searcher.worker.begin(worker_.random);
  begin_learning();
  const auto work = [&](int thread) {
    const auto number = static_cast<std::size_t>(thread);
    StopRequest never;  // only the calling thread may ask the owner; the others hear of it when queues close
    try {
      if (number < learning_.size()) {
        learn(learning_[number], report.threads[number], thread == 0 ? stop : never);
      } else {
        search_some(number, report.threads[number]);
      }
    } catch (const Interrupted&) {  // within a search
      stopped_ = true;
      close();
    } catch (...) {
      close();  // nobody is to wait for this thread
      throw;
    }
  };
  const auto settle = [&] {
    for (LearningThread& learning : learning_) {
      learning.queue.for_each([&](BlockBatch& batch) { take_back(batch); });
      take_back(learning.own);
      collect(learning.worker, report);
    }
  };
  try {
    team_.run(work);
  } catch (...) {
    settle();
    recompute_weights();
    throw;
  }
  settle();
  report.stopped = stopped_;
  if (report.stopped) recompute_weights();
  report.weights_age /= static_cast<double>(std::max<std::size_t>(report.inferences, 1));
}

void Decoupled::begin_learning() {
  searched_ = 0;
  stopped_ = false;
  for (LearningThread& learning : learning_) {
    learning.queue.open();
    learning.worker.begin(worker_.random);
  }
  clock_ = worker_.updates;
  published_ = 0;
  if (safeguard_) {
    safeguard_->begin(weights_.values(), examples_, worker_.random);
    for (LearningThread& learning : learning_) learning.worker.visit.asked.damping = safeguard_->damping();
  } else if (std::exchange(outdated_, false)) {
    snapshots_.reset(weights_.values(), worker_.updates);
  }
}

double Decoupled::check(double squared_norm, bool whole_pass) {
  if (!safeguard_) return squared_norm;
  double expected = 0;
  for (const LearningThread& learning : learning_) expected += learning.worker.gain;
  return safeguard_->check(squared_norm, expected, whole_pass, weights_.values());
}

void Decoupled::close() {
  for (LearningThread& learning : learning_) learning.queue.close();
}

std::optional<std::size_t> Decoupled::next_example() {
  const std::size_t place = taken_.fetch_add(1, std::memory_order_relaxed);
  return place < order_.size() ? std::optional(order_[place]) : std::nullopt;
}

// After a pass that was cut: whatever was on its way, the weights are what the duals say.
void Decoupled::recompute_weights() {
  learner_->write_weights(weights_.values());
  outdated_ = true;
}

void Decoupled::search_some(std::size_t number, ThreadTime& time) {
  Searcher& searcher = searchers_[number];
  BlockQueue& queue = learning_[number % learning_.size()].queue;
  searcher.searched.clear();
  searcher.next = 0;
  searcher.mean_gain /= 2;  // gains fall from pass to pass, and a pass may be too short for the mean to follow
  Stopwatch watch;
  BlockBatch* batch = nullptr;
  Snapshots::Pin pin;
  std::size_t in_batch = 0;
  std::size_t with_pin = 0;
  bool busy = true;  // the learner is
  while (const auto i = next_example()) {
    if (!batch || with_pin >= parallel_.rho_inferences) {
      pin = {};  // others may need the buffer
      time.inference += watch.lap();
      if (!batch) {
        parallel_.at_meeting();
        batch = queue.take_empty(number);
        time.waiting += watch.lap();
        if (!batch) return;
        take_back(*batch);
        in_batch = 0;
      }
      if (alone()) pin = snapshots_.pin();
      with_pin = 0;
      time.publishing += watch.lap();
    }
    const WeightView w = alone() ? pin.weights() : WeightView(weights_.values());
    search(*i, w, busy ? parallel_.least_gain : 0, number, batch->add());
    if (alone()) batch->age += static_cast<double>(clock_.load(std::memory_order_relaxed) - pin.version());
    ++with_pin;
    if (!busy) send_again(w, searcher, *batch);
    searcher.searched.push_back(*i);
    if (++in_batch == searches_each) {
      busy = !queue.send(std::exchange(batch, nullptr));
      parallel_.at_meeting();
    }
  }
  time.inference += watch.lap();
  if (batch) queue.send(batch);
}

void Decoupled::search(std::size_t i, WeightView w, double least_gain, std::size_t number, BlockBatch::Item& item) {
  Searcher& searcher = searchers_[number];
  if (safeguard_) safeguard_->note(i, number);
  item.searched = true;
  item.found = searcher.worker.find(i, w, !alone());
  item.has_block = copy_block(w, least_gain, searcher, item);
  away_[i] = item.has_block ? 1 : 0;
}

// With a least gain the steps are tried first, on weights that may be a little old: a visit without its scatter. Of a
// block whose candidates are improved one by one only those are sent that gain at least this share of the mean.
bool Decoupled::copy_block(WeightView w, double least_gain, Searcher& searcher, BlockBatch::Item& item) {
  constexpr double forgetting = 1e-4;  // of the mean gain, for every step that was tried
  const std::size_t i = item.found.example;
  Visit& visit = searcher.worker.visit;
  learner_->blocks().open(i, visit);
  const Block& block = *visit.open.block;
  if (block.empty()) {
    learner_->settle(i, {}, {}, true);
    return false;
  }
  item.rows.resize(block.size());
  std::iota(item.rows.begin(), item.rows.end(), 0U);
  if (least_gain == 0) {
    item.block.copy(block, item.rows, {true, true});
    return true;
  }
  gather(*task_, i, w, visit);
  visit.asked.least_gain = least_gain * searcher.mean_gain;
  const Step step = learner_->solve(i, visit);
  visit.asked.least_gain = 0;
  if (step.tried > 0) {
    const auto tried = static_cast<double>(step.tried);
    searcher.mean_gain += std::min(forgetting * tried, 1.0) * (step.tried_gain / tried - searcher.mean_gain);
  }
  if (step.updates == 0) {
    learner_->settle(i, visit.open.duals, step, true);
    return false;
  }
  if (!step.as_a_whole) std::erase_if(item.rows, [&](std::uint32_t j) { return visit.open.steps[j] == 0; });
  item.block.copy(block, item.rows, {true, true});
  return true;
}

// Sends blocks that this thread has searched in this pass and that are not with the learner, one after the other.
void Decoupled::send_again(WeightView w, Searcher& searcher, BlockBatch& batch) {
  const std::size_t most = searcher.searched.size();
  for (int more = std::min<int>(learner_->schedule().inner_passes, static_cast<int>(most)); more > 0; --more) {
    if (searcher.next >= most) searcher.next = 0;
    const std::size_t i = searcher.searched[searcher.next++];
    if (away_[i] || learner_->blocks()[i].empty()) continue;
    BlockBatch::Item& item = batch.add();
    item.found = {.example = i};
    item.searched = false;
    item.has_block = copy_block(w, 0, searcher, item);
    away_[i] = item.has_block ? 1 : 0;
  }
}

// Empties a batch that the learner has given back: the duals of a copy are those of its block now.
void Decoupled::take_back(BlockBatch& batch) {
  auto& duals = searchers_[batch.sender()].duals;
  for (const BlockBatch::Item& item : batch.items()) {
    if (!item.has_block) continue;  // what was not sent may be on its way in another batch
    const std::size_t i = item.found.example;
    const auto rows = learner_->blocks()[i].rows();
    duals.resize(rows.size());
    for (std::size_t j = 0; j < rows.size(); ++j) duals[j] = rows[j].dual;
    for (std::size_t j = 0; j < item.rows.size(); ++j) duals[item.rows[j]] = item.block.rows()[j].dual;
    learner_->settle(i, duals, item.step, true);
    away_[i] = 0;
  }
  batch.clear();
}

void Decoupled::learn(LearningThread& learning, ThreadTime& time, StopRequest& stop) {
  Stopwatch watch;
  while (!learning.queue.closed() && searched_ < order_.size()) {
    if (stop.stopped()) {
      stopped_ = true;
      break;
    }
    const auto [batch, next] = learning.queue.receive();
    if (batch) {
      take_in(batch->items(), next ? next->items() : std::span<BlockBatch::Item>(), learning);
      learning.worker.report.weights_age += batch->age;
      learning.queue.give_back(batch);
      parallel_.at_meeting();
    } else if (!search_one(learning, time, watch)) {
      time.update += watch.lap();
      learning.queue.wait();
      time.waiting += watch.lap();
    }
    time.update += watch.lap();
    alone() ? publish_if_due() : parallel_.at_meeting();
    time.publishing += watch.lap();
  }
  close();
}

// The learner's own search, with the weights as they are; false if all examples are taken.
bool Decoupled::search_one(LearningThread& learning, ThreadTime& time, Stopwatch& watch) {
  const auto i = next_example();
  if (!i) return false;
  time.update += watch.lap();
  search(*i, weights_.values(), 0, learning.own.sender(), learning.own.add());
  time.inference += watch.lap();
  take_in(learning.own.items(), {}, learning);
  take_back(learning.own);
  return true;
}

// `next` are the items that come after these.
void Decoupled::take_in(std::span<BlockBatch::Item> items, std::span<const BlockBatch::Item> next,
                        LearningThread& learning) {
  learning.coming.clear();
  for (const auto& list : {std::span<const BlockBatch::Item>(items), next}) {
    for (const BlockBatch::Item& item : list) {
      if (item.has_block) learning.coming.push_back(&item);
    }
  }
  auto coming = std::span<const BlockBatch::Item* const>(learning.coming);
  for (BlockBatch::Item& item : items) {
    item.step = {};
    if (item.has_block) {
      coming = coming.subspan(1);
      prefetch(coming);
      improve(item, learning.worker);
    }
    if (!item.searched) continue;
    learning.worker.note(item.found, item.step.gain > 0 ? item.found.candidates : 0);
    ++searched_;
  }
}

// What the learner is about to need lies in the caches of others, or in none.
void Decoupled::prefetch(std::span<const BlockBatch::Item* const> coming) {
  if (coming.size() > 3) coming[3]->block.prefetch_header();
  if (coming.size() > 1) {
    coming[1]->block.prefetch();
    if (const auto* implicit = task_->implicit()) implicit->prefetch(coming[1]->found.example);
  }
  if (!coming.empty()) prefetch_weights(coming[0]->block, weights_.values());
}

// A visit of a copy.
void Decoupled::improve(BlockBatch::Item& item, Worker& worker) {
  const std::size_t i = item.found.example;
  Visit& visit = worker.visit;
  visit.open.block = &item.block;
  gather(*task_, i, weights_.values(), visit);
  item.step = learner_->solve(i, visit);
  const WeightWriter w{weights_.values().data(), !alone()};
  if (item.step.updates > 0) scatter(*task_, i, w, visit, alone() ? &snapshots_.delta() : nullptr);
  worker.updates += item.step.updates;
  worker.gain += item.step.gain;
  for (std::size_t j = 0; j < visit.open.duals.size(); ++j) item.block.rows()[j].dual = visit.open.duals[j];
}

void Decoupled::publish_if_due() {
  const LearningThread& learning = learning_.front();
  const std::uint64_t updates = worker_.updates + learning.worker.updates;
  clock_.store(updates, std::memory_order_relaxed);
  const std::uint64_t done = learning.worker.updates + learning.worker.report.inferences;
  if (done - published_ < parallel_.rho_updates) return;
  parallel_.at_meeting();
  snapshots_.publish(updates);
  published_ = done;
}

namespace {

const EngineRegistration<BlockLearner, DecoupledOptions> registered_decoupled(
    "decoupled",
    {parameter("learners", &DecoupledOptions::learners), parameter("rho_updates", &DecoupledOptions::rho_updates),
     parameter("rho_inferences", &DecoupledOptions::rho_inferences),
     parameter("least_gain", &DecoupledOptions::least_gain)},
    [](const BlockJob& job, DecoupledOptions options) {
      options.threads = job.threads;
      return std::make_shared<Decoupled>(job.task, job.learner, job.examples(), job.order, std::move(options));
    });

}  // namespace

}  // namespace marginloom
