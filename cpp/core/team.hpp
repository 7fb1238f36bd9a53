// Threads that stay for the life of an engine and are called to work together, many times a second.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/interruption.hpp"

namespace marginloom {

// To be called again and again by a thread that waits for another one to be done in no time.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

// Keeps the first exception of several threads.
class Failure {
 public:
  void capture();
  void rethrow();  // and forget it

 private:
  std::mutex mutex_;
  std::exception_ptr first_;
};

class Team {
 public:
  // Throws std::system_error if the system does not give so many.
  // `threads` in all, of which the one that calls run() is number 0. Threads that wait spin so many times before they
  // sleep, some tens of microseconds if nothing else is said: a sentence is decoded in as many.
  explicit Team(int threads, int spins = 2000);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] int size() const { return static_cast<int>(helpers_.size()) + 1; }

  // Calls work(thread) once on every thread and returns when all have ended. The first exception is rethrown here.
  // Threads that wait for each other spin only as long as there is a core for each of them. All threads listen to what
  // the caller listens to (Listening), and the caller goes on asking while it waits for the others.
  void run(const std::function<void(int)>& work);

  // The same for work whose pieces are taken from a common counter: threads that have not begun when the caller has
  // ended are left out instead of being waited for, which spares short calls the time that it takes to wake a thread.
  void share(const std::function<void(int)>& work);

 private:
  // The current call: its number in the upper half; below that, whether threads must still join (run) or may (share),
  // and how many are at work. One word, so that a thread that wakes late can neither miss a call nor join another one.
  static constexpr std::uint64_t must_join = std::uint64_t{1} << 31;  // all are counted as being at work already
  static constexpr std::uint64_t may_join = std::uint64_t{1} << 30;
  static constexpr std::uint64_t at_work = may_join - 1;

  void serve(int thread);
  void end();
  void call(const std::function<void(int)>& work, std::uint64_t state);
  void wait_for_all();
  [[nodiscard]] bool join(std::uint32_t number);
  void do_work(int thread);
  template <class Ready>
  [[nodiscard]] bool spin_until(Ready ready) const;

  int spins_;
  const std::function<void(int)>* work_ = nullptr;
  Listening* listening_ = nullptr;  // of the current call
  std::atomic<std::uint32_t> calls_{0};
  std::atomic<std::uint64_t> state_{0};
  std::atomic<bool> ending_{false};
  Failure failure_;
  std::mutex mutex_;
  std::condition_variable ended_;  // the current call has
  std::vector<std::jthread> helpers_;
};

}  // namespace marginloom
