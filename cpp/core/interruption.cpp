#include "core/interruption.hpp"

namespace marginloom {
namespace detail {

constinit thread_local Ear ear;

void listen() {
  ear.steps = 0;
  if (!ear.listening) return;
  if (ear.asks ? ear.listening->stopped() : ear.listening->told_to_stop()) throw Interrupted();
}

}  // namespace detail

bool StopRequest::asks_again() {
  if (!ask_) return stopped_;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < least_) return stopped_;
  last_ = now;
  if (tell_ && progress_) tell_(progress_->done.load(std::memory_order_relaxed), progress_->total);
  stopped_ |= ask_();
  return stopped_;
}

Listening::Listening(StopRequest& request) : request_(request), before_(detail::ear) {
  detail::ear = {.listening = this, .asks = true};
}

Listening::~Listening() {
  detail::ear = before_;
}

bool Listening::stopped() {
  if (request_.stopped()) told_.store(true, std::memory_order_relaxed);
  return told_to_stop();
}

void Listening::ask_again() {
  if (request_.asks_again()) told_.store(true, std::memory_order_relaxed);
}

ListeningForCaller::ListeningForCaller(Listening* caller) : before_(detail::ear) {
  detail::ear = {.listening = caller};
}

ListeningForCaller::~ListeningForCaller() {
  detail::ear = before_;
}

}  // namespace marginloom
