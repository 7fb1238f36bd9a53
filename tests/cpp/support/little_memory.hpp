// As good as no address space beyond what is in use, until the end of a block.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

class LittleMemory {
 public:
  LittleMemory() {
    getrlimit(RLIMIT_AS, &before_);
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    constexpr rlim_t room = 256 << 20;  // a few threads
    const rlimit little{pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + room, before_.rlim_max};
    setrlimit(RLIMIT_AS, &little);
  }
  ~LittleMemory() { setrlimit(RLIMIT_AS, &before_); }
  LittleMemory(const LittleMemory&) = delete;
  LittleMemory& operator=(const LittleMemory&) = delete;

 private:
  rlimit before_{};
};
