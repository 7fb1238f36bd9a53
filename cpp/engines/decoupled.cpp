#include "engines/decoupled.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "core/stopwatch.hpp"
#include "engines/registered_engine.hpp"

namespace marginloom {
namespace {

constexpr std::size_t mails_each = 2;      // one to fill while the other is on its way
constexpr std::size_t searches_each = 16;  // in a mail

void prefetch_weights(const Block& block, WeightView w) {
  constexpr std::size_t most = 1024;
  const auto support = block.support();
  for (const WeightIndex k : support.first(std::min(support.size(), most))) prefetch_line(&w[k]);
}

}  // namespace

Decoupled::Decoupled(std::shared_ptr<const Task> task, std::shared_ptr<DualLearner> learner,
                     std::vector<std::size_t> examples, VisitOptions visiting, DecoupledOptions options)
    : DualEngine(std::move(task), std::move(learner), std::move(examples), visiting),
      parallel_(std::move(options)),
      team_(std::max(parallel_.threads, 2)),
      searchers_(static_cast<std::size_t>(team_.size())),
      snapshots_(task_, searchers_.size() - 1),
      away_(task_->size(), 0) {
  if (!learner_->schedule().lends) throw std::invalid_argument("this learner cannot be decoupled from inference");
  for (Searcher& searcher : searchers_) searcher.scratch = task_->make_scratch();
  const std::size_t learners =
      std::clamp<std::size_t>(static_cast<std::size_t>(parallel_.learners), 1, searchers_.size() - 1);
  for (std::size_t k = 0; k < learners; ++k) learning_.emplace_back(k, searchers_.size(), mails_each);
  if (!alone()) safeguard_ = std::make_unique<Safeguard>(*learner_, searchers_.size(), learners);
}

std::optional<Certificate> Decoupled::certify(int threads, StopRequest& stop) {
  outdated_ = true;
  return DualEngine::certify(threads, stop);
}

void Decoupled::import_state(const StateArrays& state) {
  outdated_ = true;
  DualEngine::import_state(state);
  if (safeguard_) safeguard_->forget();
}

void Decoupled::search_pass(PassReport& report, StopRequest& stop) {
  report.threads.resize(static_cast<std::size_t>(team_.size()));
  order_ = pass_order(examples_, options_, visitor_.random);
  taken_ = 0;
  for (Searcher& searcher : searchers_) searcher.visit.random = Random(visitor_.random.next());
  begin_learning();
  const auto work = [&](int thread) {
    const auto number = static_cast<std::size_t>(thread);
    StopRequest never;  // only the calling thread may ask the owner; the others hear of it when mailboxes close
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
      learning.mailbox.visit([&](Mail& mail) { take_back(mail); });
      take_back(learning.own);
    }
    collect(report);
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
    learning.mailbox.open();
    learning.visitor.begin(visitor_.random);
    learning.report = {};
    learning.loss_sum = learning.gain = 0;
  }
  clock_ = visitor_.updates;
  published_ = 0;
  if (safeguard_) {
    safeguard_->begin(weights_.values(), examples_, visitor_.random);
    for (LearningThread& learning : learning_) learning.visitor.visit.caution = safeguard_->caution();
  } else if (std::exchange(outdated_, false)) {
    snapshots_.reset(weights_.values(), visitor_.updates);
  }
}

void Decoupled::collect(PassReport& report) {
  for (LearningThread& learning : learning_) {
    report.add_counts(learning.report);
    loss_sum_ += learning.loss_sum;
    visitor_.updates += std::exchange(learning.visitor.updates, 0);
  }
}

double Decoupled::check(double squared_norm, bool whole_pass) {
  if (!safeguard_) return squared_norm;
  double believed = 0;
  for (const LearningThread& learning : learning_) believed += learning.gain;
  return safeguard_->check(squared_norm, believed, whole_pass, weights_.values());
}

void Decoupled::close() {
  for (LearningThread& learning : learning_) learning.mailbox.close();
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
  Mailbox& mailbox = learning_[number % learning_.size()].mailbox;
  searcher.searched.clear();
  searcher.next = 0;
  searcher.mean_gain /= 2;  // gains fall from pass to pass, and a pass may be too short for the mean to follow
  Stopwatch watch;
  Mail* mail = nullptr;
  Snapshots::Pin pin;
  std::size_t in_mail = 0;
  std::size_t with_pin = 0;
  bool busy = true;  // the learner is
  while (const auto i = next_example()) {
    if (!mail || with_pin >= parallel_.rho_inferences) {
      pin = {};  // others may need the buffer
      time.inference += watch.lap();
      if (!mail) {
        parallel_.at_handover();
        mail = mailbox.take_mail(number);
        time.waiting += watch.lap();
        if (!mail) return;
        take_back(*mail);
        in_mail = 0;
      }
      if (alone()) pin = snapshots_.pin();
      with_pin = 0;
      time.publishing += watch.lap();
    }
    const WeightView w = alone() ? pin.weights() : WeightView(weights_.values());
    search(*i, w, busy ? parallel_.least_gain : 0, number, mail->add());
    if (alone()) mail->age += static_cast<double>(clock_.load(std::memory_order_relaxed) - pin.version());
    ++with_pin;
    if (!busy) send_again(w, searcher, *mail);
    searcher.searched.push_back(*i);
    if (++in_mail == searches_each) {
      busy = !mailbox.send(std::exchange(mail, nullptr));
      parallel_.at_handover();
    }
  }
  time.inference += watch.lap();
  if (mail) mailbox.send(mail);
}

void Decoupled::search(std::size_t i, WeightView w, double least_gain, std::size_t number, Mail::Item& item) {
  Searcher& searcher = searchers_[number];
  if (safeguard_) safeguard_->note(i, number);
  item.example = i;
  item.searched = true;
  item.found = 0;
  FunctionSink absorb([&](const Candidate& candidate) {
    learner_->absorb(candidate, searcher.visit);
    ++item.found;
  });
  item.slack = alone() ? task_->find(i, w, learner_->search(i), *searcher.scratch, absorb)
                       : find_in_live_weights(*task_, i, w, learner_->search(i), *searcher.scratch, absorb);
  item.worth = lend(i, w, least_gain, searcher, item);
  away_[i] = item.worth ? 1 : 0;
}

// With a least gain the steps are tried first, on weights that may be a little old: a visit without its scatter. Of a
// block whose candidates are improved one by one only those are sent that gain at least this share of the mean.
bool Decoupled::lend(std::size_t i, WeightView w, double least_gain, Searcher& searcher, Mail::Item& item) {
  constexpr double forgetting = 1e-4;  // of the mean gain, for every step that was tried
  Visit& visit = searcher.visit;
  learner_->blocks().open(i, visit);
  const Block& block = *visit.block;
  if (block.empty()) {
    visit.duals.clear();
    learner_->settle(i, visit, {}, true);
    return false;
  }
  item.rows.resize(block.size());
  std::iota(item.rows.begin(), item.rows.end(), 0U);
  if (least_gain == 0) {
    item.block.copy(block, item.rows, {true, true});
    return true;
  }
  gather(*task_, i, w, visit);
  visit.least_gain = least_gain * searcher.mean_gain;
  const Step step = learner_->solve(i, visit);
  visit.least_gain = 0;
  if (step.tried > 0) {
    const auto tried = static_cast<double>(step.tried);
    searcher.mean_gain += std::min(forgetting * tried, 1.0) * (step.tried_gain / tried - searcher.mean_gain);
  }
  if (step.updates == 0) {
    learner_->settle(i, visit, step, true);
    return false;
  }
  if (!step.as_a_whole) std::erase_if(item.rows, [&](std::uint32_t j) { return visit.steps[j] == 0; });
  item.block.copy(block, item.rows, {true, true});
  return true;
}

// Sends blocks of examples that this thread has searched in this pass and that are at home, one after the other.
void Decoupled::send_again(WeightView w, Searcher& searcher, Mail& mail) {
  const std::size_t most = searcher.searched.size();
  for (int more = std::min<int>(learner_->schedule().inner_passes, static_cast<int>(most)); more > 0; --more) {
    if (searcher.next >= most) searcher.next = 0;
    const std::size_t i = searcher.searched[searcher.next++];
    if (away_[i] || learner_->blocks()[i].empty()) continue;
    Mail::Item& item = mail.add();
    item.example = i;
    item.searched = false;
    item.worth = lend(i, w, 0, searcher, item);
    away_[i] = item.worth ? 1 : 0;
  }
}

// Empties a mail that the learner has given back: the duals of a copy are those of its block now.
void Decoupled::take_back(Mail& mail) {
  Visit& visit = searchers_[mail.sender()].visit;
  for (const Mail::Item& item : mail.items()) {
    if (!item.worth) continue;  // what was not sent may be on its way in another mail
    const auto rows = learner_->blocks()[item.example].rows();
    visit.duals.resize(rows.size());
    for (std::size_t j = 0; j < rows.size(); ++j) visit.duals[j] = rows[j].dual;
    for (std::size_t j = 0; j < item.rows.size(); ++j) visit.duals[item.rows[j]] = item.block.rows()[j].dual;
    learner_->settle(item.example, visit, item.step, true);
    away_[item.example] = 0;
  }
  mail.clear();
}

void Decoupled::learn(LearningThread& learning, ThreadTime& time, StopRequest& stop) {
  Stopwatch watch;
  while (!learning.mailbox.closed() && searched_ < examples_.size()) {
    if (stop.stopped()) {
      stopped_ = true;
      break;
    }
    const auto [mail, next] = learning.mailbox.receive();
    if (mail) {
      take_in(mail->items(), next ? next->items() : std::span<Mail::Item>(), learning);
      learning.report.weights_age += mail->age;
      learning.mailbox.give_back(mail);
      parallel_.at_handover();
    } else if (!search_one(learning, time, watch)) {
      time.update += watch.lap();
      learning.mailbox.wait();
      time.waiting += watch.lap();
    }
    time.update += watch.lap();
    alone() ? publish_if_due() : parallel_.at_handover();
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
void Decoupled::take_in(std::span<Mail::Item> items, std::span<const Mail::Item> next, LearningThread& learning) {
  PassReport& report = learning.report;
  learning.coming.clear();
  for (const auto& list : {std::span<const Mail::Item>(items), next}) {
    for (const Mail::Item& item : list) {
      if (item.worth) learning.coming.push_back(&item);
    }
  }
  auto coming = std::span<const Mail::Item* const>(learning.coming);
  for (Mail::Item& item : items) {
    item.step = {};
    if (item.worth) {
      coming = coming.subspan(1);
      prefetch(coming);
      improve(item, learning);
    }
    if (!item.searched) continue;
    learner_->searched(item.example, item.slack);
    report.training_loss += item.slack;
    learning.loss_sum += learner_->cost(item.example) * loss_value(learner_->loss(), item.slack);
    report.found += item.found;
    report.accepted += item.step.gain > 0 ? item.found : 0;
    report.wrong += item.found > 0 ? 1 : 0;
    ++report.inferences;
    ++searched_;
  }
}

// What the learner is about to need lies in the caches of others, or in none.
void Decoupled::prefetch(std::span<const Mail::Item* const> coming) {
  if (coming.size() > 3) coming[3]->block.prefetch_header();
  if (coming.size() > 1) {
    coming[1]->block.prefetch();
    task_->prefetch(coming[1]->example);
  }
  if (!coming.empty()) prefetch_weights(coming[0]->block, weights_.values());
}

// A visit of a block that was lent.
void Decoupled::improve(Mail::Item& item, LearningThread& learning) {
  Visit& visit = learning.visitor.visit;
  visit.block = &item.block;
  gather(*task_, item.example, weights_.values(), visit);
  item.step = learner_->solve(item.example, visit);
  const WeightWriter w{weights_.values().data(), !alone()};
  if (item.step.updates > 0) scatter(*task_, item.example, w, visit, alone() ? &snapshots_.delta() : nullptr);
  learning.visitor.updates += item.step.updates;
  learning.gain += item.step.gain;
  for (std::size_t j = 0; j < visit.duals.size(); ++j) item.block.rows()[j].dual = visit.duals[j];
}

void Decoupled::publish_if_due() {
  const LearningThread& learning = learning_.front();
  const std::uint64_t updates = visitor_.updates + learning.visitor.updates;
  clock_.store(updates, std::memory_order_relaxed);
  const std::uint64_t done = learning.visitor.updates + learning.report.inferences;
  if (done - published_ < parallel_.rho_updates) return;
  parallel_.at_handover();
  snapshots_.publish(updates);
  published_ = done;
}

namespace {

const EngineRegistration<DualLearner, DecoupledOptions> registered_decoupled(
    "decoupled",
    {parameter("learners", &DecoupledOptions::learners), parameter("rho_updates", &DecoupledOptions::rho_updates),
     parameter("rho_inferences", &DecoupledOptions::rho_inferences),
     parameter("least_gain", &DecoupledOptions::least_gain)},
    [](const DualJob& job, DecoupledOptions options) {
      options.threads = job.threads;
      return std::make_shared<Decoupled>(job.task, job.learner, job.examples(), job.visits, std::move(options));
    });

}  // namespace

}  // namespace marginloom
