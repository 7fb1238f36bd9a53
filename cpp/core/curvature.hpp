// A matrix I + sum of factor * v v^T over all pairs of weights, where the weights are so few that it can be factored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
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

  // Vectors that touch the same weights, one after the other, with their factors: their squares are added together,
  // as a product of matrices, which takes a fraction of the time.
  struct Group {
    std::vector<double> factors;
    std::vector<double> values;
  };
  using Rows = std::vector<std::uint32_t>;

  void add_group(const Rows& rows, const Group& group);
  void add_square(const Rows& rows, const Group& group);
  void add_product(const Rows& rows, const Group& group);
  void add_all_groups();
  // Gives the weights of a vector a row, and returns those of all its numbers that are not 0, ascending.
  void touch(std::span<const double> vector);

  // Only the weights that some vector touches have a row, in the order in which they were met.
  std::vector<std::uint32_t> rows_;     // by weight
  std::vector<std::uint32_t> touched_;  // weights by row
  std::vector<double> matrix_;          // its lower triangle, row by row
  std::map<Rows, Group> groups_;        // that wait
  Rows found_;                          // of one vector
  // Of one product.
  std::vector<double> padded_;
  std::vector<double> scaled_;
  std::vector<double> product_;
};

}  // namespace marginloom
