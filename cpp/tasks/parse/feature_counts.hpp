// Features of one kind while training counts them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "features/vocabulary.hpp"
#include "tasks/parse/feature_names.hpp"

namespace marginloom {

class FeatureCounts {
 public:
  // Calls name() for a key that was not there before.
  template <class Name>
  void count(FeatureKey key, Name name) {
    const auto [place, is_new] = numbers_.try_emplace(key, static_cast<std::uint32_t>(counts_.size()));
    if (is_new) {
      counts_.push_back(0);
      names_.intern(name());
    }
    ++counts_[place->second];
  }

  // Those that occurred so often, numbered as they were first seen.
  [[nodiscard]] Vocabulary frequent(std::size_t least) const {
    std::vector<std::uint32_t> kept;
    for (std::uint32_t id = 0; id < counts_.size(); ++id) {
      if (counts_[id] >= least) kept.push_back(id);
    }
    return kept.size() == counts_.size() ? names_ : names_.selected(kept);
  }

 private:
  std::unordered_map<FeatureKey, std::uint32_t> numbers_;
  std::vector<std::size_t> counts_;
  Vocabulary names_;
};

}  // namespace marginloom
