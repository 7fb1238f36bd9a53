// One number for every example of a task, such as its C_i. What users see as one example may be several in a row here
// (Task::examples_per_row), which have the same number then: it is kept once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace marginloom {

class ExampleNumbers {
 public:
  ExampleNumbers(std::vector<double> of_rows, std::size_t examples_per_row = 1)
      : of_rows_(std::move(of_rows)), examples_per_row_(examples_per_row) {}

  [[nodiscard]] std::size_t size() const { return of_rows_.size() * examples_per_row_; }
  [[nodiscard]] const double& operator[](std::size_t i) const {
    return of_rows_[examples_per_row_ == 1 ? i : i / examples_per_row_];
  }
  // Whether so many consecutive examples always have the same number.
  [[nodiscard]] bool alike_in_rows_of(std::size_t count) const {
    if (examples_per_row_ == count) return true;
    for (std::size_t i = 1; i < size(); ++i) {
      if (i % count != 0 && (*this)[i] != (*this)[i - 1]) return false;
    }
    return true;
  }
  // Of how many examples it is more than 0.
  [[nodiscard]] std::size_t count_positive() const {
    return examples_per_row_ *
           static_cast<std::size_t>(std::ranges::count_if(of_rows_, [](double x) { return x > 0; }));
  }
  [[nodiscard]] std::vector<double> expanded() && {
    if (examples_per_row_ == 1) return std::move(of_rows_);
    std::vector<double> result;
    result.reserve(size());
    for (const double number : of_rows_) result.insert(result.end(), examples_per_row_, number);
    return result;
  }

 private:
  std::vector<double> of_rows_;
  std::size_t examples_per_row_;
};

}  // namespace marginloom
