#include "learners/hildreth.hpp"

#include <algorithm>
#include <cmath>

namespace marginloom {

void Hildreth::reset(std::size_t size) {
  size_ = size;
  gram_.assign(size * size, 0.0);
  missing_.assign(size, 0.0);
  duals_.assign(size, 0.0);
  costs_.assign(size, 0.0);
  examples_.assign(size, 0);
}

void Hildreth::set(std::size_t j, std::size_t example, double cost, double missing, double squared_norm) {
  examples_[j] = example;
  costs_[j] = cost;
  missing_[j] = missing;
  gram_[j * size_ + j] = squared_norm;
}

void Hildreth::set_product(std::size_t j, std::size_t k, double product) {
  gram_[j * size_ + k] = product;
  gram_[k * size_ + j] = product;
}

std::span<const double> Hildreth::solve(const HildrethOptions& options) {
  blocks_.clear();
  for (std::size_t j = 0; j < size_; ++j) {
    if (j == 0 || examples_[j] != examples_[j - 1]) blocks_.push_back({j, j, costs_[j]});
    blocks_.back().end = j + 1;
  }
  const int sweeps = size_ == 1 ? 1 : options.max_sweeps;  // the first step of a single variable is the last
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    double worst = 0;
    for (Block& block : blocks_) {
      for (std::size_t j = block.begin; j < block.end; ++j) worst = std::max(worst, improve(j, block));
    }
    if (worst <= options.tolerance) break;
  }
  return duals_;
}

// Makes the best step of a_j, and returns by how much its margin was off before. What is left may be no more than what
// rounding has left: a margin that is still missing then takes from another member at once.
double Hildreth::improve(std::size_t j, Block& block) {
  const double missing = missing_[j];
  const double step = std::clamp(missing / gram_[j * size_ + j], -duals_[j], std::max(block.left, 0.0));
  if (step != 0) {
    move(j, step);
    block.left -= step;
  }
  const double off = step == 0 ? 0 : std::abs(missing);
  return missing_[j] > 0 && block.left <= 0 ? std::max(off, take_from_lowest(j, block)) : off;
}

// Moves the best part of the dual of the member with the lowest margin to a_j; returns by how much the two differed.
double Hildreth::take_from_lowest(std::size_t j, const Block& block) {
  std::size_t lowest = j;
  for (std::size_t k = block.begin; k < block.end; ++k) {
    if (duals_[k] > 0 && missing_[k] < missing_[lowest]) lowest = k;
  }
  const double excess = missing_[j] - missing_[lowest];
  if (excess <= 0) return 0;
  const double curvature = gram_[j * size_ + j] + gram_[lowest * size_ + lowest] - 2 * gram_[j * size_ + lowest];
  const double step = curvature > 0 ? std::min(excess / curvature, duals_[lowest]) : duals_[lowest];
  move(j, step);
  move(lowest, -step);
  return excess;
}

void Hildreth::move(std::size_t j, double change) {
  duals_[j] += change;
  for (std::size_t k = 0; k < size_; ++k) missing_[k] -= change * gram_[j * size_ + k];
}

}  // namespace marginloom
