// What one thread's inference in the task of labelling sequences changes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned_vector.hpp"
#include "tasks/sequence/chain_marginals.hpp"
#include "tasks/sequence/k_best.hpp"
#include "tasks/sequence/label_beam.hpp"
#include "tasks/sequence/pair_marginals.hpp"
#include "tasks/sequence/second_order.hpp"
#include "tasks/sequence/sequence.hpp"

namespace marginloom {

struct SequenceTask::Buffers final : Scratch {
  AlignedVector<double> scores;       // tokens times stride: emission scores, then best scores of prefixes
  AlignedVector<double> transitions;  // with what is forbidden at minus infinity
  bool copies_transitions = false;    // although nothing is forbidden
  LocalTransitions local;
  Viterbi viterbi;
  KBestPaths k_best;
  ChainMarginals chain_marginals;
  PairMarginals pair_marginals;
  PathMarginals* path_marginals = nullptr;  // one of these
  PairViterbi pairs;
  LabelBeam beam;
  std::vector<LabelIndex> labels;    // the decoded path
  std::vector<std::uint8_t> output;  // the same, encoded
  std::vector<Entry> difference;
  std::vector<Entry> other_difference;
  std::vector<Entry> spare;
  std::vector<double> token_products;    // of the features of a sentence's tokens
  std::vector<double> dense_difference;  // for the norm of an implicit difference; all 0 between uses
};

}  // namespace marginloom
