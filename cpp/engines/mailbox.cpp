#include "engines/mailbox.hpp"

namespace marginloom {

Mailbox::Mailbox(std::size_t senders, std::size_t mails_each) : empty_(senders) {
  for (std::size_t sender = 0; sender < senders; ++sender) {
    for (std::size_t k = 0; k < mails_each; ++k) {
      mails_.emplace_back().sender = sender;
      empty_[sender].push_back(&mails_.back());
    }
  }
}

void Mailbox::open() {
  const std::lock_guard lock(mutex_);
  closed_ = false;
  full_.clear();
  for (auto& own : empty_) own.clear();
  for (Mail& mail : mails_) {
    mail.clear();
    empty_[mail.sender].push_back(&mail);
  }
}

Mail* Mailbox::take_empty(std::size_t sender) {
  std::unique_lock lock(mutex_);
  returned_.wait(lock, [&] { return closed_ || !empty_[sender].empty(); });
  if (closed_) return nullptr;
  Mail* mail = empty_[sender].back();
  empty_[sender].pop_back();
  return mail;
}

void Mailbox::send(Mail* mail) {
  {
    const std::lock_guard lock(mutex_);
    full_.push_back(mail);
  }
  sent_.notify_one();
}

Mail* Mailbox::receive() {
  const std::lock_guard lock(mutex_);
  if (full_.empty()) return nullptr;
  Mail* mail = full_.front();
  full_.pop_front();
  return mail;
}

void Mailbox::wait() {
  std::unique_lock lock(mutex_);
  sent_.wait(lock, [&] { return closed_ || !full_.empty(); });
}

void Mailbox::give_back(Mail* mail) {
  mail->clear();
  {
    const std::lock_guard lock(mutex_);
    empty_[mail->sender].push_back(mail);
  }
  returned_.notify_all();
}

void Mailbox::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  sent_.notify_all();
  returned_.notify_all();
}

bool Mailbox::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

}  // namespace marginloom
