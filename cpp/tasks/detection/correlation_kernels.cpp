#include "tasks/detection/correlation_kernels.hpp"

#include <cmath>
#include <numbers>
#include <string_view>

#include "core/kernels.hpp"

namespace marginloom {

extern const CorrelationKernels baseline_correlation_kernels;
#ifdef MARGINLOOM_X86
extern const CorrelationKernels avx2_correlation_kernels;
extern const CorrelationKernels avx512_correlation_kernels;
#endif

const CorrelationKernels& correlation_kernels() {
#ifdef MARGINLOOM_X86
  const std::string_view name = kernels().name;
  const bool fused = __builtin_cpu_supports("fma");
  if (name == avx512_correlation_kernels.name && fused) return avx512_correlation_kernels;
  if (name == avx2_correlation_kernels.name && fused) return avx2_correlation_kernels;
#endif
  return baseline_correlation_kernels;
}

std::vector<float> twiddles(std::size_t length) {
  std::vector<float> result;
  for (std::size_t span = length; span >= 4; span /= 4) {
    for (std::size_t j = 0; j < span / 4; ++j) {
      for (std::size_t multiple = 1; multiple <= 3; ++multiple) {
        const double angle = -2 * std::numbers::pi * static_cast<double>(multiple * j) / static_cast<double>(span);
        result.push_back(static_cast<float>(std::cos(angle)));
        result.push_back(static_cast<float>(std::sin(angle)));
      }
    }
  }
  return result;
}

}  // namespace marginloom
