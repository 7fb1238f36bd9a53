// Room for numbers whose count is known only when they are needed: on the stack where they are few.
#pragma once

#include <cstddef>
#include <memory>

namespace marginloom {

class FewNumbers {
 public:
  explicit FewNumbers(std::size_t count) : many_(count > few ? new double[count] : nullptr) {}
  [[nodiscard]] double* data() { return many_ ? many_.get() : numbers_; }

 private:
  static constexpr std::size_t few = 2048;
  double numbers_[few];  // both as they are: setting them would take longer than most uses
  std::unique_ptr<double[]> many_;
};

}  // namespace marginloom
