// Hands what inference threads have found to the learning thread. Nothing is lost, nobody spins, and the number of
// mails is fixed: an inference thread that is too far ahead waits until one of its own comes back.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

#include "core/candidate.hpp"

namespace marginloom {

// What some searches brought.
struct Mail {
  struct Search {
    std::size_t example;
    double slack;
    std::size_t count;  // of candidates, which follow each other in `found`
  };
  std::vector<Search> searches;
  CandidateBatch found;
  double age = 0;  // sum over the searches: updates that the learner was ahead of their weights
  std::size_t sender = 0;

  void clear() {
    searches.clear();
    found.clear();
    age = 0;
  }
};

class Mailbox {
 public:
  Mailbox(std::size_t senders, std::size_t mails_each);

  void open();  // for a new pass; all mails must be back

  // Of senders: an empty mail of their own, after a wait if need be; null once the box is closed.
  [[nodiscard]] Mail* take_empty(std::size_t sender);
  void send(Mail* mail);

  // Of the receiver: the oldest mail, or null if there is none. wait() returns when there is one, or the box is closed.
  [[nodiscard]] Mail* receive();
  void wait();
  void give_back(Mail* mail);

  void close();  // wakes everybody up
  [[nodiscard]] bool closed() const;

 private:
  // Waking a thread costs microseconds, so nobody is woken who does not wait for just this.
  struct Sender {
    std::vector<Mail*> empty;
    std::condition_variable returned;
    bool waiting = false;
  };

  mutable std::mutex mutex_;
  std::condition_variable sent_;
  bool receiver_waiting_ = false;
  std::deque<Mail> mails_;  // never moves, like the senders
  std::deque<Sender> senders_;
  std::deque<Mail*> full_;
  bool closed_ = false;
};

}  // namespace marginloom
