#include "engines/block_queue.hpp"

namespace marginloom {

BlockQueue::BlockQueue(std::size_t senders, std::size_t batches_each) {
  for (std::size_t number = 0; number < senders; ++number) {
    Sender& sender = senders_.emplace_back();
    sender.batches = batches_each;
    for (std::size_t k = 0; k < batches_each; ++k) {
      batches_.emplace_back(number);
      sender.empty.push_back(&batches_.back());
    }
  }
}

void BlockQueue::open() {
  const std::lock_guard lock(mutex_);
  closed_ = false;
  full_.clear();
  for (Sender& sender : senders_) sender.empty.clear();
  for (BlockBatch& batch : batches_) {
    batch.clear();
    senders_[batch.sender()].empty.push_back(&batch);
  }
}

BlockBatch* BlockQueue::take_empty(std::size_t number) {
  Sender& sender = senders_[number];
  std::unique_lock lock(mutex_);
  sender.waiting = true;
  sender.returned.wait(lock, [&] { return closed_ || !sender.empty.empty(); });
  sender.waiting = false;
  if (closed_) return nullptr;
  BlockBatch* batch = sender.empty.back();
  sender.empty.pop_back();
  return batch;
}

bool BlockQueue::send(BlockBatch* batch) {
  bool wake = false;
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = full_.empty();
    full_.push_back(batch);
    wake = receiver_waiting_;
  }
  if (wake) sent_.notify_one();
  return first;
}

BlockQueue::Received BlockQueue::receive() {
  const std::lock_guard lock(mutex_);
  if (full_.empty()) return {};
  BlockBatch* batch = full_.front();
  full_.pop_front();
  return {batch, full_.empty() ? nullptr : full_.front()};
}

void BlockQueue::wait() {
  std::unique_lock lock(mutex_);
  receiver_waiting_ = true;
  wait_listening(lock, sent_, [&] { return closed_ || !full_.empty() || told_to_stop(); });
  receiver_waiting_ = false;
}

void BlockQueue::give_back(BlockBatch* batch) {
  Sender& sender = senders_[batch->sender()];
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    sender.empty.push_back(batch);
    wake = sender.waiting && sender.empty.size() == sender.batches;
  }
  if (wake) sender.returned.notify_one();
}

void BlockQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  sent_.notify_all();
  for (Sender& sender : senders_) sender.returned.notify_all();
}

bool BlockQueue::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

}  // namespace marginloom
