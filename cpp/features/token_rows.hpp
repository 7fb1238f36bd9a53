// Sparse rows under construction, one per token.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "features/vocabulary.hpp"

namespace marginloom {

[[nodiscard]] inline std::uint32_t number_of(Vocabulary& vocabulary, std::string_view name, bool grow) {
  return grow ? vocabulary.intern(name) : vocabulary.find(name);
}

// A feature that a token has twice stands there twice: its values add up in every score and every difference.
struct TokenRows {
  std::vector<std::uint64_t> tokens{0};
  std::vector<std::uint32_t> features;
  std::vector<float> values;  // none while all are 1

  [[nodiscard]] bool indicators() const { return values.empty(); }

  static void check(double value) {
    if (!std::isfinite(value)) throw std::invalid_argument("a value is NaN or infinite");
    if (std::abs(value) > std::numeric_limits<float>::max()) {
      throw std::invalid_argument("a value is beyond the range of single precision");
    }
  }

  void add(std::uint32_t feature, double value) {
    if (feature == Vocabulary::unknown || value == 0) return;
    if (value != 1) {
      check(value);
      if (values.empty()) values.assign(features.size(), 1);
    }
    features.push_back(feature);
    if (value != 1 || !values.empty()) values.push_back(static_cast<float>(value));
  }

  void end_token() { tokens.push_back(features.size()); }
};

}  // namespace marginloom
