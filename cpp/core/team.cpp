#include "core/team.hpp"

#include <algorithm>
#include <utility>

namespace marginloom {
namespace {

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

void Failure::capture() {
  const std::lock_guard lock(mutex_);
  if (!first_) first_ = std::current_exception();
}

void Failure::rethrow() {
  if (const auto first = std::exchange(first_, nullptr)) std::rethrow_exception(first);
}

Team::Team(int threads) {
  constexpr int spins = 2000;  // some tens of microseconds: a sentence is decoded in as many
  const auto cores = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U));
  spins_ = threads <= cores ? spins : 0;
  helpers_.reserve(static_cast<std::size_t>(std::max(threads - 1, 0)));
  for (int thread = 1; thread < threads; ++thread) helpers_.emplace_back([this, thread] { serve(thread); });
}

Team::~Team() {
  ending_ = true;
  ++calls_;
  calls_.notify_all();
}

template <class T>
void Team::wait_while(const std::atomic<T>& value, T old) const {
  for (int spin = 0; spin < spins_; ++spin) {
    if (value.load(std::memory_order_acquire) != old) return;
    relax();
  }
  value.wait(old, std::memory_order_acquire);
}

void Team::do_work(int thread) {
  try {
    (*work_)(thread);
  } catch (...) {
    failure_.capture();
  }
}

void Team::serve(int thread) {
  for (std::uint32_t seen = 0;; ++seen) {
    wait_while(calls_, seen);
    if (ending_) return;
    do_work(thread);
    if (working_.fetch_sub(1, std::memory_order_acq_rel) == 1) working_.notify_one();
  }
}

void Team::run(const std::function<void(int)>& work) {
  work_ = &work;
  working_.store(static_cast<std::uint32_t>(helpers_.size()), std::memory_order_relaxed);
  calls_.fetch_add(1, std::memory_order_release);
  calls_.notify_all();
  do_work(0);
  for (std::uint32_t left; (left = working_.load(std::memory_order_acquire)) > 0;) wait_while(working_, left);
  failure_.rethrow();
}

}  // namespace marginloom
