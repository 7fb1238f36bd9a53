// Memory that is needed soon.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace marginloom {

// Asks for one cache line. The empty assembly is an effect that the compiler can see: it takes functions that do
// nothing but prefetch for functions that do nothing, and leaves their calls out.
inline void prefetch_line(const void* address) {
  __builtin_prefetch(address);
  asm volatile("");
}

// Asks for all cache lines that these bytes touch, up to as many as do not push each other out.
inline void prefetch_bytes(const void* begin, std::size_t bytes) {
  constexpr std::uintptr_t line = 64;
  constexpr std::size_t most = 64 * line;
  if (bytes == 0) return;
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t end = address + std::min(bytes, most);
  for (std::uintptr_t k = address / line * line; k < end; k += line) {
    prefetch_line(reinterpret_cast<const void*>(k));
  }
}

}  // namespace marginloom
