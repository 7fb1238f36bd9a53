#include "engines/mailbox.hpp"

namespace marginloom {

Mailbox::Mailbox(std::size_t senders, std::size_t mails_each) {
  for (std::size_t number = 0; number < senders; ++number) {
    Sender& sender = senders_.emplace_back();
    sender.mails = mails_each;
    for (std::size_t k = 0; k < mails_each; ++k) {
      mails_.emplace_back(number);
      sender.empty.push_back(&mails_.back());
    }
  }
}

void Mailbox::open() {
  const std::lock_guard lock(mutex_);
  closed_ = false;
  full_.clear();
  for (Sender& sender : senders_) sender.empty.clear();
  for (Mail& mail : mails_) {
    mail.clear();
    senders_[mail.sender()].empty.push_back(&mail);
  }
}

Mail* Mailbox::take_mail(std::size_t number) {
  Sender& sender = senders_[number];
  std::unique_lock lock(mutex_);
  sender.waiting = true;
  sender.returned.wait(lock, [&] { return closed_ || !sender.empty.empty(); });
  sender.waiting = false;
  if (closed_) return nullptr;
  Mail* mail = sender.empty.back();
  sender.empty.pop_back();
  return mail;
}

bool Mailbox::send(Mail* mail) {
  bool wake = false;
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = full_.empty();
    full_.push_back(mail);
    wake = receiver_waiting_;
  }
  if (wake) sent_.notify_one();
  return first;
}

Mailbox::Received Mailbox::receive() {
  const std::lock_guard lock(mutex_);
  if (full_.empty()) return {};
  Mail* mail = full_.front();
  full_.pop_front();
  return {mail, full_.empty() ? nullptr : full_.front()};
}

void Mailbox::wait() {
  std::unique_lock lock(mutex_);
  receiver_waiting_ = true;
  wait_listening(lock, sent_, [&] { return closed_ || !full_.empty() || told_to_stop(); });
  receiver_waiting_ = false;
}

void Mailbox::give_back(Mail* mail) {
  Sender& sender = senders_[mail->sender()];
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    sender.empty.push_back(mail);
    wake = sender.waiting && sender.empty.size() == sender.mails;
  }
  if (wake) sender.returned.notify_one();
}

void Mailbox::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  sent_.notify_all();
  for (Sender& sender : senders_) sender.returned.notify_all();
}

bool Mailbox::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

}  // namespace marginloom
