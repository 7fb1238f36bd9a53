// Work shared out over threads.
#pragma once

#include <cstddef>
#include <functional>

#include "core/interruption.hpp"

namespace marginloom {

// Calls body(thread, begin, end) for consecutive chunks that cover [0, size), on `threads` threads of which
// the caller is one (and the only one that polls `stop`, also while it waits for the others). Chunks are handed out in
// order, so threads that finish early take more. The first exception of any thread is rethrown here after all have
// ended. Where the system gives fewer threads, these do the work. Returns false if it was stopped before the end,
// between chunks or within one (count_steps).
[[nodiscard]] bool parallel_for(std::size_t size, std::size_t chunk, int threads, StopRequest& stop,
                                const std::function<void(int, std::size_t, std::size_t)>& body);

}  // namespace marginloom
