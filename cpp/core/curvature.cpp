#include "core/curvature.hpp"

#include <algorithm>

#include "core/cholesky.hpp"

namespace marginloom {

void Curvature::reset(std::size_t weights) {
  matrix_.resize(weights * weights);
  rows_.assign(weights, untouched);
  touched_.clear();
}

void Curvature::add(std::span<const double> vector, double factor) {
  const std::size_t pitch = rows_.size();
  entries_.clear();
  for (std::size_t k = 0; k < vector.size(); ++k) {
    if (vector[k] == 0) continue;
    if (rows_[k] == untouched) {
      rows_[k] = static_cast<std::uint32_t>(touched_.size());
      double* row = matrix_.data() + touched_.size() * pitch;
      std::fill_n(row, touched_.size(), 0.0);
      row[touched_.size()] = 1;
      touched_.push_back(static_cast<std::uint32_t>(k));
    }
    entries_.push_back({rows_[k], vector[k]});
  }
  std::ranges::sort(entries_, {}, &Entry::row);
  for (std::size_t a = 0; a < entries_.size(); ++a) {
    double* row = matrix_.data() + entries_[a].row * pitch;
    const double scaled = factor * entries_[a].value;
    for (std::size_t b = 0; b <= a; ++b) row[entries_[b].row] += scaled * entries_[b].value;
  }
}

bool Curvature::solve(std::span<double> b) {
  const std::size_t order = touched_.size();
  if (!factor_cholesky(matrix_, order, rows_.size())) return false;
  std::vector<double> solution(order);
  for (std::size_t k = 0; k < order; ++k) solution[k] = b[touched_[k]];
  solve_cholesky(matrix_, rows_.size(), solution);
  for (std::size_t k = 0; k < order; ++k) b[touched_[k]] = solution[k];
  return true;
}

}  // namespace marginloom
