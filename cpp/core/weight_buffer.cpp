#include "core/weight_buffer.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace marginloom {

WeightBuffer::WeightBuffer(std::size_t size) : size_(size), bytes_(std::max<std::size_t>(size, 1) * sizeof(double)) {
  void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  madvise(memory, bytes_, MADV_HUGEPAGE);  // a hint: random access over many megabytes spares the page table
#endif
  data_ = static_cast<double*>(memory);
}

WeightBuffer::~WeightBuffer() {
  munmap(data_, bytes_);
}

}  // namespace marginloom
