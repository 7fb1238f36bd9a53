#include "engines/decoupled.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "core/stopwatch.hpp"

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
      mailbox_(searchers_.size(), mails_each),
      snapshots_(task_, searchers_.size() - 1),
      away_(task_->size(), 0) {
  if (!learner_->schedule().lends) throw std::invalid_argument("this learner cannot be decoupled from inference");
  for (Searcher& searcher : searchers_) searcher.scratch = task_->make_scratch();
}

std::optional<Certificate> Decoupled::certify(int threads, StopRequest& stop) {
  outdated_ = true;
  return DualEngine::certify(threads, stop);
}

void Decoupled::import_state(const StateArrays& state) {
  outdated_ = true;
  DualEngine::import_state(state);
}

void Decoupled::search_pass(PassReport& report, StopRequest& stop) {
  report.threads.resize(static_cast<std::size_t>(team_.size()));
  mailbox_.open();
  if (std::exchange(outdated_, false)) {
    snapshots_.reset(weights_.values(), visitor_.updates);
    published_ = visitor_.updates + searches_;
  }
  clock_ = visitor_.updates;
  order_ = pass_order(examples_, options_, visitor_.random);
  taken_ = 0;
  for (Searcher& searcher : searchers_) searcher.visit.random = Random(visitor_.random.next());
  const auto work = [&](int thread) {
    try {
      if (thread == 0) {
        learn(report, stop);
      } else {
        const auto number = static_cast<std::size_t>(thread);
        search_some(number, report.threads[number]);
      }
    } catch (...) {
      mailbox_.close();  // nobody is to wait for this thread
      throw;
    }
  };
  const auto settle = [&] {
    mailbox_.visit([&](Mail& mail) { take_back(mail); });
    take_back(own_);
  };
  try {
    team_.run(work);
  } catch (...) {
    settle();
    recompute_weights();
    throw;
  }
  settle();
  if (report.stopped) recompute_weights();
  report.weights_age /= static_cast<double>(std::max<std::size_t>(report.inferences, 1));
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
        mail = mailbox_.take_mail(number);
        time.waiting += watch.lap();
        if (!mail) return;
        take_back(*mail);
        in_mail = 0;
      }
      pin = snapshots_.pin();
      with_pin = 0;
      time.publishing += watch.lap();
    }
    search(*i, pin.weights(), busy ? parallel_.least_gain : 0, searcher, mail->add());
    mail->age += static_cast<double>(clock_.load(std::memory_order_relaxed) - pin.version());
    ++with_pin;
    if (!busy) send_again(pin, searcher, *mail);
    searcher.searched.push_back(*i);
    if (++in_mail == searches_each) {
      busy = !mailbox_.send(std::exchange(mail, nullptr));
      parallel_.at_handover();
    }
  }
  time.inference += watch.lap();
  if (mail) mailbox_.send(mail);
}

void Decoupled::search(std::size_t i, WeightView w, double least_gain, Searcher& searcher, Mail::Item& item) {
  item.example = i;
  item.searched = true;
  item.found = 0;
  FunctionSink absorb([&](const Candidate& candidate) {
    learner_->absorb(candidate, searcher.visit);
    ++item.found;
  });
  item.slack = task_->find(i, w, learner_->search(i), *searcher.scratch, absorb);
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
void Decoupled::send_again(const Snapshots::Pin& pin, Searcher& searcher, Mail& mail) {
  const std::size_t most = searcher.searched.size();
  for (int more = std::min<int>(learner_->schedule().inner_passes, static_cast<int>(most)); more > 0; --more) {
    if (searcher.next >= most) searcher.next = 0;
    const std::size_t i = searcher.searched[searcher.next++];
    if (away_[i] || learner_->blocks()[i].empty()) continue;
    Mail::Item& item = mail.add();
    item.example = i;
    item.searched = false;
    item.worth = lend(i, pin.weights(), 0, searcher, item);
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

void Decoupled::learn(PassReport& report, StopRequest& stop) {
  ThreadTime& time = report.threads.front();
  Stopwatch watch;
  while (!mailbox_.closed() && report.inferences < examples_.size()) {
    if (stop.stopped()) {
      report.stopped = true;
      break;
    }
    const auto [mail, next] = mailbox_.receive();
    if (mail) {
      take_in(mail->items(), next ? next->items() : std::span<Mail::Item>(), report);
      report.weights_age += mail->age;
      mailbox_.give_back(mail);
      parallel_.at_handover();
    } else if (!search_one(report, time, watch)) {
      time.update += watch.lap();
      mailbox_.wait();
      time.waiting += watch.lap();
    }
    time.update += watch.lap();
    publish_if_due();
    time.publishing += watch.lap();
  }
  mailbox_.close();
}

// The learner's own search, with the weights as they are; false if all examples are taken.
bool Decoupled::search_one(PassReport& report, ThreadTime& time, Stopwatch& watch) {
  const auto i = next_example();
  if (!i) return false;
  time.update += watch.lap();
  search(*i, weights_.values(), 0, searchers_.front(), own_.add());
  time.inference += watch.lap();
  take_in(own_.items(), {}, report);
  take_back(own_);
  return true;
}

// `next` are the items that come after these.
void Decoupled::take_in(std::span<Mail::Item> items, std::span<const Mail::Item> next, PassReport& report) {
  const WeightWriter w{weights_.values().data()};
  coming_.clear();
  for (const auto& list : {std::span<const Mail::Item>(items), next}) {
    for (const Mail::Item& item : list) {
      if (item.worth) coming_.push_back(&item);
    }
  }
  auto coming = std::span<const Mail::Item* const>(coming_);
  for (Mail::Item& item : items) {
    item.step = {};
    if (item.worth) {
      coming = coming.subspan(1);
      prefetch(coming);
      improve(item, w);
    }
    if (!item.searched) continue;
    note_search(item.example, item.slack, report);
    report.found += item.found;
    report.accepted += item.step.gain > 0 ? item.found : 0;
    report.wrong += item.found > 0 ? 1 : 0;
    ++searches_;
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
void Decoupled::improve(Mail::Item& item, const WeightWriter& w) {
  Visit& visit = visitor_.visit;
  visit.block = &item.block;
  gather(*task_, item.example, weights_.values(), visit);
  item.step = learner_->solve(item.example, visit);
  if (item.step.updates > 0) scatter(*task_, item.example, w, visit, &snapshots_.delta());
  visitor_.updates += item.step.updates;
  for (std::size_t j = 0; j < visit.duals.size(); ++j) item.block.rows()[j].dual = visit.duals[j];
}

void Decoupled::publish_if_due() {
  clock_.store(visitor_.updates, std::memory_order_relaxed);
  if (visitor_.updates + searches_ - published_ < parallel_.rho_updates) return;
  parallel_.at_handover();
  snapshots_.publish(visitor_.updates);
  published_ = visitor_.updates + searches_;
}

}  // namespace marginloom
