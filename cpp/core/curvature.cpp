#include "core/curvature.hpp"

#include <algorithm>

#include "core/cholesky.hpp"
#include "core/kernels.hpp"

namespace marginloom {
namespace {

// Vectors of a group that are added together, and groups that wait for more vectors, at most.
constexpr std::size_t together = 32;
constexpr std::size_t most_groups = 512;

}  // namespace

void Curvature::reset(std::size_t weights) {
  matrix_.resize(weights * weights);
  rows_.assign(weights, untouched);
  touched_.clear();
  groups_.clear();
}

void Curvature::add(std::span<const double> vector, double factor) {
  touch(vector);
  if (groups_.size() == most_groups && !groups_.contains(found_)) add_all_groups();
  Group& group = groups_[found_];
  group.factors.push_back(factor);
  for (const std::uint32_t row : found_) group.values.push_back(vector[touched_[row]]);
  if (group.factors.size() < together) return;
  add_group(found_, group);
  group.factors.clear();
  group.values.clear();
}

void Curvature::touch(std::span<const double> vector) {
  const std::size_t pitch = rows_.size();
  found_.clear();
  for (std::size_t k = 0; k < vector.size(); ++k) {
    if (vector[k] == 0) continue;
    if (rows_[k] == untouched) {
      rows_[k] = static_cast<std::uint32_t>(touched_.size());
      double* row = matrix_.data() + touched_.size() * pitch;
      std::fill_n(row, touched_.size(), 0.0);
      row[touched_.size()] = 1;
      touched_.push_back(static_cast<std::uint32_t>(k));
    }
    found_.push_back(rows_[k]);
  }
  std::ranges::sort(found_);
}

void Curvature::add_all_groups() {
  for (const auto& [rows, group] : groups_) add_group(rows, group);
  groups_.clear();
}

void Curvature::add_group(const Rows& rows, const Group& group) {
  constexpr std::size_t few = 4;  // for which the detour over a product does not pay
  if (group.factors.size() < few) {
    add_square(rows, group);
  } else {
    add_product(rows, group);
  }
}

void Curvature::add_square(const Rows& rows, const Group& group) {
  for (std::size_t v = 0; v < group.factors.size(); ++v) {
    const double* values = group.values.data() + v * rows.size();
    for (std::size_t a = 0; a < rows.size(); ++a) {
      double* row = matrix_.data() + rows[a] * rows_.size();
      const double scaled = group.factors[v] * values[a];
      for (std::size_t b = 0; b <= a; ++b) row[rows[b]] += scaled * values[b];
    }
  }
}

void Curvature::add_product(const Rows& rows, const Group& group) {
  const std::size_t count = group.factors.size();
  const std::size_t size = rows.size();
  const std::size_t stride = padded(size);
  padded_.assign(count * stride, 0.0);
  scaled_.resize(size * count);
  product_.assign(size * stride, 0.0);
  for (std::size_t v = 0; v < count; ++v) {
    const double* values = group.values.data() + v * size;
    std::copy_n(values, size, padded_.data() + v * stride);
    for (std::size_t a = 0; a < size; ++a) scaled_[a * count + v] = group.factors[v] * values[a];
  }
  kernels().add_product_64(padded_.data(), scaled_.data(), size, count, stride, product_.data());
  for (std::size_t a = 0; a < size; ++a) {
    double* row = matrix_.data() + rows[a] * rows_.size();
    const double* products = product_.data() + a * stride;
    for (std::size_t b = 0; b <= a; ++b) row[rows[b]] += products[b];
  }
}

bool Curvature::solve(std::span<double> b) {
  add_all_groups();
  const std::size_t order = touched_.size();
  if (!factor_cholesky(matrix_, order, rows_.size())) return false;
  std::vector<double> solution(order);
  for (std::size_t k = 0; k < order; ++k) solution[k] = b[touched_[k]];
  solve_cholesky(matrix_, rows_.size(), solution);
  for (std::size_t k = 0; k < order; ++k) b[touched_[k]] = solution[k];
  return true;
}

}  // namespace marginloom
