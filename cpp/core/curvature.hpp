// A matrix I + sum of factor * v v^T over all pairs of weights, where the weights are so few that it can be factored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace marginloom {

class Curvature {
 public:
  // Makes it I over so many weights.
  void reset(std::size_t weights);
  // Adds factor * v v^T for a vector with few numbers that are not 0.
  void add(std::span<const double> vector, double factor);
  // Replaces b by the solution of (this) x = b. False if rounding has made it indefinite. reset() comes next.
  [[nodiscard]] bool solve(std::span<double> b);

 private:
  static constexpr std::uint32_t untouched = static_cast<std::uint32_t>(-1);

  // Only the weights that some vector touches have a row, in the order in which they were met.
  std::vector<std::uint32_t> rows_;     // by weight
  std::vector<std::uint32_t> touched_;  // weights by row
  std::vector<double> matrix_;          // its lower triangle, row by row
  struct Entry {
    std::uint32_t row;
    double value;
  };
  std::vector<Entry> entries_;  // of one vector
};

}  // namespace marginloom
