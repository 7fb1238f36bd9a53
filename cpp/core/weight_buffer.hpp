// Memory for a weight vector that other processes can map.
#pragma once

#include <cstddef>
#include <span>

namespace marginloom {

// A zeroed array of doubles in an anonymous memory file. A process that inherits or receives `descriptor()`
// maps the same memory and sees every change.
class WeightBuffer {
 public:
  explicit WeightBuffer(std::size_t size);
  ~WeightBuffer();
  WeightBuffer(const WeightBuffer&) = delete;
  WeightBuffer& operator=(const WeightBuffer&) = delete;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::span<double> values() { return {data_, size_}; }
  [[nodiscard]] std::span<const double> values() const { return {data_, size_}; }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  std::size_t size_;
  std::size_t bytes_;
  int descriptor_ = -1;
  double* data_ = nullptr;
};

}  // namespace marginloom
