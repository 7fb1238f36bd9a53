// A queue from threads that search examples to one that learns: batches of copies of blocks, which go back to their
// senders afterwards. Nothing is lost, nobody spins, and the number of batches is fixed: a sender that is too far ahead
// waits until one of its own comes back.
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
#include "engines/worker.hpp"
#include "learners/visit.hpp"

namespace marginloom {

// What some searches have brought, with copies of the blocks that are to be improved.
class BlockBatch {
 public:
  struct Item {
    Found found = {};
    bool searched = false;                 // in this pass, so that the search counts
    bool has_block = false;                // something is to be improved
    Block block = {};                      // a copy of what is to be improved
    std::vector<std::uint32_t> rows = {};  // of the example's own block, that the copy has
    Step step = {};                        // what the learner made of it
  };

  explicit BlockBatch(std::size_t sender) : sender_(sender) {}

  [[nodiscard]] std::size_t sender() const { return sender_; }
  [[nodiscard]] std::span<Item> items() { return std::span(items_).first(count_); }
  // One more item, with the memory of an old one; without a block until it is said to have one, so that a search that
  // fails leaves nothing to take back.
  [[nodiscard]] Item& add() {
    if (count_ == items_.size()) items_.emplace_back();
    items_[count_].has_block = false;
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

class BlockQueue {
 public:
  BlockQueue(std::size_t senders, std::size_t batches_each);

  void open();  // for a new pass; all batches are empty

  // Of senders: a batch of their own, new or as it came back, after a wait if need be; null once the queue is closed.
  [[nodiscard]] BlockBatch* take_empty(std::size_t sender);
  // Returns whether there was none before it that the receiver has not yet come to.
  bool send(BlockBatch* batch);

  // Of the receiver: the oldest batch, or null if there is none, and the one that it will get next, if it is there
  // already. wait() returns when there is one, the queue is closed, or the owner of the work has it stopped.
  struct Received {
    BlockBatch* batch = nullptr;
    BlockBatch* next = nullptr;
  };
  [[nodiscard]] Received receive();
  void wait();
  void give_back(BlockBatch* batch);

  void close();  // wakes everybody up

  // Calls function(batch) for all batches, wherever they are. Nobody else may be using the queue.
  template <class Function>
  void for_each(Function function) {
    for (BlockBatch& batch : batches_) function(batch);
  }
  [[nodiscard]] bool closed() const;

 private:
  // Waking a thread costs microseconds, so nobody is woken who does not wait for just this, and a sender only when all
  // of its batches are back.
  struct Sender {
    std::size_t batches = 0;
    std::vector<BlockBatch*> empty;
    std::condition_variable returned;
    bool waiting = false;
  };

  mutable std::mutex mutex_;
  std::condition_variable sent_;
  bool receiver_waiting_ = false;
  std::deque<BlockBatch> batches_;  // never moves, like the senders
  std::deque<Sender> senders_;
  std::deque<BlockBatch*> full_;
  bool closed_ = false;
};

}  // namespace marginloom
