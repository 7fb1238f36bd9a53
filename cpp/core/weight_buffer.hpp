// Memory for a weight vector.
#pragma once

#include <cstddef>
#include <span>

namespace marginloom {

// A zeroed array of doubles, on large pages where the system has them.
class WeightBuffer {
 public:
  explicit WeightBuffer(std::size_t size);
  ~WeightBuffer();
  WeightBuffer(const WeightBuffer&) = delete;
  WeightBuffer& operator=(const WeightBuffer&) = delete;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::span<double> values() { return {data_, size_}; }
  [[nodiscard]] std::span<const double> values() const { return {data_, size_}; }

 private:
  std::size_t size_;
  std::size_t bytes_;
  double* data_ = nullptr;
};

}  // namespace marginloom
