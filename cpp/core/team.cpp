#include "core/team.hpp"

#include <algorithm>
#include <utility>

namespace marginloom {

void Failure::capture() {
  const std::lock_guard lock(mutex_);
  if (!first_) first_ = std::current_exception();
}

void Failure::rethrow() {
  if (const auto first = std::exchange(first_, nullptr)) std::rethrow_exception(first);
}

Team::Team(int threads, int spins) {
  const auto cores = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U));
  spins_ = threads <= cores ? spins : 0;
  helpers_.reserve(static_cast<std::size_t>(std::max(threads - 1, 0)));
  try {
    for (int thread = 1; thread < threads; ++thread) helpers_.emplace_back([this, thread] { serve(thread); });
  } catch (...) {  // those that have started would wait for ever to be called
    end();
    throw;
  }
}

Team::~Team() {
  end();
}

void Team::end() {
  ending_ = true;
  ++calls_;
  calls_.notify_all();
}

template <class Ready>
bool Team::spin_until(Ready ready) const {
  for (int spin = 0; spin < spins_; ++spin) {
    if (ready()) return true;
    relax();
  }
  return ready();
}

void Team::do_work(int thread) {
  try {
    (*work_)(thread);
  } catch (...) {
    failure_.capture();
  }
}

void Team::serve(int thread) {
  for (std::uint32_t seen = 0;;) {
    if (!spin_until([&] { return calls_.load(std::memory_order_acquire) != seen; })) {
      calls_.wait(seen, std::memory_order_acquire);
    }
    seen = calls_.load(std::memory_order_acquire);
    if (ending_) return;
    if (!join(seen)) continue;
    {
      const ListeningForCaller heard(listening_);
      do_work(thread);
    }
    if ((state_.fetch_sub(1, std::memory_order_acq_rel) & at_work) != 1) continue;
    {
      const std::lock_guard lock(mutex_);
    }  // the caller has not looked yet, or waits by now
    ended_.notify_one();
  }
}

// True if this thread is to work in the call of that number.
bool Team::join(std::uint32_t number) {
  std::uint64_t state = state_.load(std::memory_order_acquire);
  if (state >> 32 == number && (state & must_join) != 0) return true;
  while (state >> 32 == number && (state & may_join) != 0) {
    if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel)) return true;
  }
  return false;
}

void Team::call(const std::function<void(int)>& work, std::uint64_t state) {
  work_ = &work;
  listening_ = listening_here();
  const std::uint32_t number = calls_.load(std::memory_order_relaxed) + 1;
  state_.store(std::uint64_t{number} << 32 | state, std::memory_order_release);
  calls_.store(number, std::memory_order_release);
  calls_.notify_all();
  do_work(0);
}

void Team::wait_for_all() {
  const auto all_done = [&] { return (state_.load(std::memory_order_acquire) & at_work) == 0; };
  if (!spin_until(all_done)) {
    std::unique_lock lock(mutex_);
    wait_listening(lock, ended_, all_done);
  }
  failure_.rethrow();
}

void Team::run(const std::function<void(int)>& work) {
  call(work, must_join | helpers_.size());
  wait_for_all();
}

void Team::share(const std::function<void(int)>& work) {
  call(work, may_join);
  state_.fetch_and(~may_join, std::memory_order_acq_rel);
  wait_for_all();
}

}  // namespace marginloom
