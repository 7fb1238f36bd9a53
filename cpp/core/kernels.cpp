#include "core/kernels.hpp"

#include <cstdlib>

namespace marginloom {

extern const Kernels baseline_kernels;
#ifdef MARGINLOOM_X86
extern const Kernels avx2_kernels;
extern const Kernels avx512_kernels;
#endif

namespace {

std::vector<const Kernels*> runnable() {
  std::vector<const Kernels*> found;
#ifdef MARGINLOOM_X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) found.push_back(&avx512_kernels);
  if (__builtin_cpu_supports("avx2")) found.push_back(&avx2_kernels);
#endif
  found.push_back(&baseline_kernels);
  return found;
}

const Kernels* find(std::string_view name) {
  for (const Kernels* kernels : runnable()) {
    if (kernels->name == name) return kernels;
  }
  return nullptr;
}

const Kernels* choose_at_load() {
  const char* wanted = std::getenv("MARGINLOOM_SIMD");
  const Kernels* named = wanted ? find(wanted) : nullptr;
  return named ? named : runnable().front();
}

const Kernels* selected = choose_at_load();

}  // namespace

const Kernels& kernels() {
  return *selected;
}

std::vector<std::string_view> available_kernels() {
  std::vector<std::string_view> names;
  for (const Kernels* kernels : runnable()) names.emplace_back(kernels->name);
  return names;
}

bool select_kernels(std::string_view name) {
  const Kernels* named = find(name);
  if (named) selected = named;
  return named != nullptr;
}

}  // namespace marginloom
