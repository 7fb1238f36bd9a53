#include "engines/decoupled.hpp"

#include <algorithm>
#include <utility>

#include "core/stopwatch.hpp"

namespace marginloom {
namespace {

constexpr std::size_t mails_each = 2;     // one to fill while the other is on its way
constexpr std::size_t searches_each = 8;  // in a mail
constexpr std::size_t slice = 32;         // blocks that the learner visits between two looks into the mailbox
constexpr double patience = 4;

}  // namespace

Decoupled::Decoupled(std::shared_ptr<const Task> task, std::shared_ptr<DualLearner> learner,
                     std::vector<std::size_t> examples, VisitOptions visiting, DecoupledOptions options)
    : DualEngine(std::move(task), std::move(learner), std::move(examples), visiting),
      parallel_(std::move(options)),
      team_(std::max(parallel_.threads, 2)),
      searchers_(static_cast<std::size_t>(team_.size()) - 1),
      mailbox_(searchers_.size(), mails_each),
      snapshots_(task_->dimension()),
      dirty_(task_->dimension()) {
  for (Searcher& searcher : searchers_) searcher.scratch = task_->make_scratch();
  share_out(examples_);
}

// Gives every inference thread the same amount of predicted work: the dearest examples first, each to whoever has
// least.
void Decoupled::share_out(std::vector<std::size_t> examples) {
  std::ranges::stable_sort(examples, std::greater(), [&](std::size_t i) { return task_->work(i); });
  std::vector<double> loads(searchers_.size(), 0.0);
  for (const std::size_t i : examples) {
    const auto least = std::ranges::min_element(loads);
    searchers_[static_cast<std::size_t>(least - loads.begin())].examples.push_back(i);
    *least += task_->work(i);
  }
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
    snapshots_.reset(weights_.values(), lane_.updates);
    published_ = lane_.updates + searches_;
    dirty_.clear();
  }
  clock_ = lane_.updates;
  std::vector<Random> randoms;
  for (std::size_t s = 0; s < searchers_.size(); ++s) randoms.emplace_back(lane_.random.next());
  team_.run([&](int thread) {
    try {
      if (thread == 0) {
        learn(report, stop);
      } else {
        const auto number = static_cast<std::size_t>(thread) - 1;
        search_part(number, randoms[number], report.threads[number + 1]);
      }
    } catch (...) {
      mailbox_.close();  // nobody is to wait for this thread
      throw;
    }
  });
  report.weights_age /= static_cast<double>(std::max<std::size_t>(report.inferences, 1));
}

void Decoupled::search_part(std::size_t number, Random random, ThreadTime& time) {
  Searcher& searcher = searchers_[number];
  Stopwatch watch;
  Mail* mail = nullptr;
  Snapshots::Pin pin;
  std::size_t searched = 0;
  for (const std::size_t i : pass_order(searcher.examples, options_, random)) {
    if (!mail) {
      parallel_.at_handover();
      pin = {};  // a thread that has to wait is better off with newer weights, and others need the buffer
      time.inference += watch.lap();
      mail = mailbox_.take_empty(number);
      time.waiting += watch.lap();
      if (!mail) return;
      pin = snapshots_.pin();
      searched = 0;
    } else if (searched >= parallel_.rho_inferences) {
      pin = {};
      pin = snapshots_.pin();
      searched = 0;
    }
    const std::size_t before = mail->found.size();
    const double slack = task_->find(i, pin.weights(), learner_->search(i), *searcher.scratch, mail->found);
    mail->searches.push_back({i, slack, mail->found.size() - before});
    mail->age += static_cast<double>(clock_.load(std::memory_order_relaxed) - pin.version());
    ++searched;
    if (mail->searches.size() >= searches_each) {
      mailbox_.send(std::exchange(mail, nullptr));
      parallel_.at_handover();
    }
  }
  time.inference += watch.lap();
  if (mail) mailbox_.send(mail);
}

void Decoupled::learn(PassReport& report, StopRequest& stop) {
  ThreadTime& time = report.threads.front();
  Stopwatch watch;
  Sweep sweep;
  while (!mailbox_.closed()) {
    if (stop.stopped()) {
      report.stopped = true;
      break;
    }
    Mail* mail = mailbox_.receive();
    if (mail) {
      take_in(*mail, report);
      mailbox_.give_back(mail);
      parallel_.at_handover();
    }
    const double share = static_cast<double>(report.inferences) / static_cast<double>(examples_.size());
    bool worked = sweep_on(sweep, share);
    if (!mail && !worked) {
      if (report.inferences >= examples_.size()) break;
      worked = sweep_on(sweep, patience * share);
      if (!worked) {
        time.update += watch.lap();
        mailbox_.wait();
        time.waiting += watch.lap();
      }
    }
    time.update += watch.lap();
    publish_if_due();
    time.publishing += watch.lap();
  }
  mailbox_.close();
}

void Decoupled::take_in(const Mail& mail, PassReport& report) {
  const TrackedWeights w{weights_.values().data(), &dirty_};
  std::size_t next = 0;
  for (const Mail::Search& search : mail.searches) {
    for (std::size_t k = 0; k < search.count; ++k) learner_->absorb(mail.found[next++]);
    note_search(search.example, search.slack, report);
    const double gain = learner_->improve(search.example, w, lane_);
    report.found += search.count;
    report.accepted += gain > 0 ? search.count : 0;
    report.wrong += search.count > 0 ? 1 : 0;
  }
  report.weights_age += mail.age;
  searches_ += mail.searches.size();
}

// Visits some blocks, if there are any left of the share of the learner's passes that is due; false if there are none.
bool Decoupled::sweep_on(Sweep& sweep, double share) {
  if (sweep.next >= sweep.order.size()) {
    sweep.order.clear();
    std::ranges::copy_if(examples_, std::back_inserter(sweep.order),
                         [&](std::size_t i) { return learner_->has_candidates(i); });
    sweep.order = pass_order(std::move(sweep.order), options_, lane_.random);
    sweep.next = 0;
  }
  const double due = share * learner_->inner_passes() * static_cast<double>(sweep.order.size());
  if (sweep.order.empty() || static_cast<double>(sweep.visits) >= due) return false;
  const TrackedWeights w{weights_.values().data(), &dirty_};
  const std::size_t end = std::min(sweep.next + slice, sweep.order.size());
  for (; sweep.next < end; ++sweep.next, ++sweep.visits) {
    learner_->prefetch(std::span(sweep.order).subspan(sweep.next + 1));
    learner_->improve(sweep.order[sweep.next], w, lane_);
  }
  return true;
}

void Decoupled::publish_if_due() {
  clock_.store(lane_.updates, std::memory_order_relaxed);
  if (lane_.updates + searches_ - published_ < parallel_.rho_updates || dirty_.blocks().empty()) return;
  parallel_.at_handover();
  if (snapshots_.publish(weights_.values(), dirty_, lane_.updates)) published_ = lane_.updates + searches_;
}

}  // namespace marginloom
