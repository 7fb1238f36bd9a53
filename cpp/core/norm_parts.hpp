// |w|^2, added up in parts of a fixed size, so that it is the same for any number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "core/kernels.hpp"
#include "core/types.hpp"

namespace marginloom {

class NormParts {
 public:
  explicit NormParts(WeightView w) : w_(w), norms_((w.size() + part - 1) / part) {}

  [[nodiscard]] std::size_t size() const { return norms_.size(); }
  void compute(std::size_t k) {
    const auto weights = w_.subspan(k * part, std::min(part, w_.size() - k * part));
    norms_[k] = kernels().squared_norm(weights.data(), weights.size());
  }
  [[nodiscard]] double sum() const { return std::accumulate(norms_.begin(), norms_.end(), 0.0); }

 private:
  static constexpr std::size_t part = std::size_t{1} << 16;
  WeightView w_;
  std::vector<double> norms_;
};

}  // namespace marginloom
