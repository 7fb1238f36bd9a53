// What one thread's inference over sets of labels changes.
#pragma once

#include <cstdint>
#include <vector>

#include "tasks/multilabel/k_best_sets.hpp"
#include "tasks/multilabel/multilabel.hpp"

namespace marginloom {

struct MultilabelTask::Buffers final : ScoredScratch {
  std::vector<double> gains;      // per label: what its presence brings
  std::vector<std::uint8_t> set;  // the set found
  KBestSets k_best;
  PairBuffers pairs;
  std::vector<double> log_present;  // probabilities of labels
  std::vector<double> log_absent;
  std::vector<double> pair_scores;  // at a temperature
};

}  // namespace marginloom
