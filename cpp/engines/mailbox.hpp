// Hands the examples that inference threads have searched to the learning thread. Nothing is lost, nobody spins, and
// the number of mails is fixed: an inference thread that is too far ahead waits until one of its own comes back.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "core/block.hpp"
#include "core/interruption.hpp"
#include "learners/visit.hpp"

namespace marginloom {

// Blocks on their way to the learner and back.
class Mail {
 public:
  struct Item {
    std::size_t example = 0;
    bool searched = false;
    double slack = 0;                      // of the search
    std::size_t found = 0;                 // candidates
    bool worth = false;                    // whether the block holds something to improve
    Block block = {};                      // a copy of what is to be improved
    std::vector<std::uint32_t> rows = {};  // of the example's own block, that the copy has
    Step step = {};                        // what the learner made of it
  };

  explicit Mail(std::size_t sender) : sender_(sender) {}

  [[nodiscard]] std::size_t sender() const { return sender_; }
  [[nodiscard]] std::span<Item> items() { return std::span(items_).first(count_); }
  // One more item, with the memory of an old one; not worth anything until it is said to be, so that a search that
  // fails leaves nothing to take back.
  [[nodiscard]] Item& add() {
    if (count_ == items_.size()) items_.emplace_back();
    items_[count_].worth = false;
    return items_[count_++];
  }
  void clear() {
    count_ = 0;
    age = 0;
  }

  double age = 0;  // sum over the searches: updates that the learner was ahead of their weights

 private:
  std::size_t sender_;
  std::vector<Item> items_;
  std::size_t count_ = 0;
};

class Mailbox {
 public:
  Mailbox(std::size_t senders, std::size_t mails_each);

  void open();  // for a new pass; all mails are empty

  // Of senders: a mail of their own, new or as it came back, after a wait if need be; null once the box is closed.
  [[nodiscard]] Mail* take_mail(std::size_t sender);
  // Returns whether there was none before it that the receiver has not yet come to.
  bool send(Mail* mail);

  // Of the receiver: the oldest mail, or null if there is none, and the one that it will get next, if it is there
  // already. wait() returns when there is one, the box is closed, or
  // the owner of the work has it stopped.
  struct Received {
    Mail* mail = nullptr;
    Mail* next = nullptr;
  };
  [[nodiscard]] Received receive();
  void wait();
  void give_back(Mail* mail);

  void close();  // wakes everybody up

  // Calls visit(mail) for all mails, wherever they are. Nobody else may be using the box.
  template <class Visit>
  void visit(Visit visit) {
    for (Mail& mail : mails_) visit(mail);
  }
  [[nodiscard]] bool closed() const;

 private:
  // Waking a thread costs microseconds, so nobody is woken who does not wait for just this, and a sender only when all
  // of its mails are back.
  struct Sender {
    std::size_t mails = 0;
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
