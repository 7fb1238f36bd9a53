#include "core/weight_buffer.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <string>

namespace marginloom {
namespace {

int create_memory_file() {
#ifdef __linux__
  return memfd_create("marginloom-weights", MFD_CLOEXEC);
#else
  static std::atomic<unsigned> serial{0};
  const std::string name = "/marginloom-" + std::to_string(getpid()) + "-" + std::to_string(serial.fetch_add(1));
  const int descriptor = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  if (descriptor >= 0) shm_unlink(name.c_str());
  return descriptor;
#endif
}

}  // namespace

WeightBuffer::WeightBuffer(std::size_t size) : size_(size), bytes_(std::max<std::size_t>(size, 1) * sizeof(double)) {
  descriptor_ = create_memory_file();
  if (descriptor_ < 0) throw std::bad_alloc();
  void* memory = MAP_FAILED;
  if (ftruncate(descriptor_, static_cast<off_t>(bytes_)) == 0) {
    memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  }
  if (memory == MAP_FAILED) {
    close(descriptor_);
    throw std::bad_alloc();
  }
#ifdef MADV_HUGEPAGE
  madvise(memory, bytes_, MADV_HUGEPAGE);  // a hint: random access over many megabytes spares the page table
#endif
  data_ = static_cast<double*>(memory);
}

WeightBuffer::~WeightBuffer() {
  munmap(data_, bytes_);
  close(descriptor_);
}

}  // namespace marginloom
