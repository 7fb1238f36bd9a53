// Products x_i.x_j of inputs in single precision, one group of examples at a time.
#pragma once

#include <span>
#include <vector>

#include "core/input_matrix.hpp"

namespace marginloom {

// Lays out the group as a matrix with one row per feature and one column per example, so that the products of another
// input with all of the group are a sum of a few of its rows.
class InputProducts {
 public:
  // Groups of at most `most` examples. `inputs` must outlive it.
  InputProducts(const InputMatrix& inputs, std::size_t most);

  // The group from now on.
  void set_group(std::span<const std::size_t> examples);

  // products[j] = x_i.x_j for the first examples j of the group, as many as there is room for.
  void multiply(std::size_t i, std::span<float> products);

 private:
  void clear();

  const InputMatrix& inputs_;
  std::size_t stride_;
  std::vector<float> rows_;
  std::vector<std::size_t> group_;
  std::vector<float> sums_;
};

}  // namespace marginloom
