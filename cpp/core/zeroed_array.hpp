// Numbers that are 0 until they are written to. Memory that was never written takes no room, which a vector filled with
// zeros does not manage.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

namespace marginloom {

class ZeroedArray {
 public:
  explicit ZeroedArray(std::size_t size)
      : values_(static_cast<double*>(size > 0 ? std::calloc(size, sizeof(double)) : nullptr)), size_(size) {
    if (size > 0 && !values_) throw std::bad_alloc();
  }

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] double& operator[](std::size_t k) { return values_[k]; }
  [[nodiscard]] double operator[](std::size_t k) const { return values_[k]; }
  [[nodiscard]] std::span<double> values() { return {values_.get(), size_}; }
  [[nodiscard]] std::span<const double> values() const { return {values_.get(), size_}; }

 private:
  struct Free {
    void operator()(double* memory) const { std::free(memory); }
  };
  std::unique_ptr<double[], Free> values_;
  std::size_t size_;
};

}  // namespace marginloom
