// Room for numbers whose count is known only when they are needed: on the stack where they are few.
#pragma once

#include <cstddef>
#include <vector>

namespace marginloom {

class FewNumbers {
 public:
  explicit FewNumbers(std::size_t count) : many_(count > few ? count : 0) {}
  [[nodiscard]] double* data() { return many_.empty() ? numbers_ : many_.data(); }

 private:
  static constexpr std::size_t few = 2048;
  double numbers_[few];  // as they are: setting them would take longer than most uses
  std::vector<double> many_;
};

}  // namespace marginloom
