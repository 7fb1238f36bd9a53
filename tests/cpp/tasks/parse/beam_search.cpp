// Memory of a search with merging; what it finds is compared with all derivations in Python.
#include "tasks/parse/beam_search.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/random.hpp"
#include "tasks/parse/state_features.hpp"
#include "test.hpp"

using marginloom::BeamOptions;
using marginloom::BeamSearch;
using marginloom::derivation_length;
using marginloom::Random;
using marginloom::Scope;
using marginloom::StateExtractor;
using marginloom::StateFeatures;
using marginloom::StateScorer;
using marginloom::WordValues;

TEST("beam search: links stay proportional to the beam and to the steps, however many derivations are one") {
  const StateExtractor extractor(marginloom::parse_templates("pos[s0]\npos[s1]\nword[q0]", Scope::states),
                                 {0, 1, {}, {}}, {});
  const StateFeatures features(extractor, 10, 8);
  Random random(3);
  constexpr std::size_t length = 60, beam = 512;
  std::vector<std::uint64_t> values;
  for (std::size_t k = 0; k < length * extractor.views(); ++k) values.push_back(1 + random.below(30));
  std::vector<double> weights(features.state_numbers().size() * marginloom::action_stride);
  for (double& weight : weights) weight = 1e-3 * static_cast<double>(random.below(1000));
  const WordValues words{values, extractor.views(), length};
  const BeamOptions options{.beam = beam};
  BeamSearch search(features, options, false);
  StateScorer scorer(features);
  scorer.load(words);
  search.run(words, weights, scorer, nullptr, nullptr, nullptr);
  const std::size_t most = BeamSearch::links_per_state * beam * derivation_length(length);
  CHECK(search.steps() == derivation_length(length));
  CHECK(search.link_count() > most / 2);
  CHECK(search.link_count() <= most);
}
