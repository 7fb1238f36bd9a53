// All that a parser that works from left to right knows of features: templates of states and of labels, and how their
// features are numbered. What ArcExtractor and ArcFeatures are to a parser that scores arcs.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/parallel.hpp"
#include "features/vocabulary.hpp"
#include "tasks/parse/arc_templates.hpp"
#include "tasks/parse/key_table.hpp"
#include "tasks/parse/state_templates.hpp"

namespace marginloom {

// Features of states and of labels, in this order.
template <class T>
using StatesAndLabels = std::array<T, 2>;

// Templates, and what they look at.
class StateExtractor {
 public:
  StateExtractor(std::vector<Template> templates, const AtomColumns& columns, Resources resources);

  [[nodiscard]] const std::vector<Template>& templates() const { return templates_; }
  [[nodiscard]] const StateTemplates& states() const { return states_; }
  [[nodiscard]] const ArcTemplates& labels() const { return labels_; }
  [[nodiscard]] std::size_t views() const { return views_.size(); }

  [[nodiscard]] std::vector<std::uint64_t> values(const TokenColumns& table, int threads, StopRequest stop = {}) const;

  // The features of gold derivations that occur at least `min_count` times, numbered as they are first seen; as
  // ArcExtractor::learn().
  [[nodiscard]] StatesAndLabels<Vocabulary> learn(std::span<const TokenColumns* const> tables,
                                                  std::span<const std::uint16_t> heads,
                                                  std::span<const std::uint8_t> left_out, std::size_t min_count,
                                                  StopRequest stop = {}) const;

 private:
  class Learning;

  std::vector<Template> templates_;
  AtomColumns columns_;
  Resources resources_;
  std::vector<Atom> views_;
  StateTemplates states_;
  ArcTemplates labels_;
};

class StateFeatures {
 public:
  // By the vocabularies that learn() made; throws std::invalid_argument if a name is no feature of these templates.
  StateFeatures(const StateExtractor& extractor, const StatesAndLabels<Vocabulary>& vocabularies);
  // By hashing, into about 2^hash_bits weights of each kind.
  StateFeatures(const StateExtractor& extractor, int hash_bits, std::size_t label_stride);

  [[nodiscard]] const StateTemplates& states() const { return states_; }
  [[nodiscard]] const ArcTemplates& labels() const { return labels_; }
  [[nodiscard]] const FeatureNumbers& state_numbers() const { return numbers_[0]; }
  [[nodiscard]] const FeatureNumbers& label_numbers() const { return numbers_[1]; }
  [[nodiscard]] std::size_t views() const { return views_; }
  // Another number if templates or the numbering of features differ.
  [[nodiscard]] std::uint64_t identity() const { return identity_; }

 private:
  void identify(std::string_view name);

  StateTemplates states_;
  ArcTemplates labels_;
  std::size_t views_;
  std::uint64_t identity_ = 2;
  StatesAndLabels<FeatureNumbers> numbers_;
};

// The weights of a feature of states stand in a row, one for every action, and a last one that is always 0.
inline constexpr std::size_t action_stride = 4;

}  // namespace marginloom
