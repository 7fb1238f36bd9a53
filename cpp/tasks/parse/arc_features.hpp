// All that a parser knows of features: templates of arcs, siblings and labels, and how their features are numbered.
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

namespace marginloom {

// Features of arcs, siblings and labels, in this order.
template <class T>
using ByKind = std::array<T, 3>;

// Templates, and what they look at.
class ArcExtractor {
 public:
  // Templates of siblings are for trees of second order, those of labels for trees with labels.
  ArcExtractor(std::vector<Template> templates, const AtomColumns& columns, Resources resources);

  [[nodiscard]] const std::vector<Template>& templates() const { return templates_; }
  [[nodiscard]] const ArcTemplates& of(ArcTemplates::Kind kind) const { return kinds_[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] std::size_t views() const { return views_.size(); }

  [[nodiscard]] std::vector<std::uint64_t> values(const TokenColumns& table, int threads, StopRequest stop = {}) const;
  [[nodiscard]] AtomReader reader(const TokenColumns& table) const {
    return AtomReader(table, columns_, resources_, templates_);
  }

  // The features of gold arcs that occur at least `min_count` times, numbered as they are first seen. Heads are those
  // of all words of all tables in a row; sentences that are left out are marked, or there are no marks.
  [[nodiscard]] ByKind<Vocabulary> learn(std::span<const TokenColumns* const> tables,
                                         std::span<const std::uint16_t> heads, std::span<const std::uint8_t> left_out,
                                         std::size_t min_count, StopRequest stop = {}) const;

 private:
  class Learning;

  std::vector<Template> templates_;
  AtomColumns columns_;
  Resources resources_;
  std::vector<Atom> views_;
  std::vector<ArcTemplates> kinds_;
};

// The nearest sibling of a modifier on the way to its head, 0 if there is none. heads[0] is not a word's.
[[nodiscard]] std::size_t nearest_sibling(std::span<const std::uint16_t> heads, std::size_t modifier);

class ArcFeatures {
 public:
  // By the vocabularies that learn() made; throws std::invalid_argument if a name is no feature of these templates.
  ArcFeatures(const ArcExtractor& extractor, const ByKind<Vocabulary>& vocabularies);
  // By hashing; as many kinds of features as rows of `stride` labels have about as many weights.
  ArcFeatures(const ArcExtractor& extractor, int hash_bits, std::size_t label_stride);

  [[nodiscard]] const ArcTemplates& templates(ArcTemplates::Kind kind) const {
    return kinds_[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] const FeatureNumbers& numbers(ArcTemplates::Kind kind) const {
    return numbers_[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] std::size_t views() const { return views_; }
  // Another number if templates or the numbering of features differ.
  [[nodiscard]] std::uint64_t identity() const { return identity_; }

 private:
  void take(const ArcTemplates& templates, std::span<const FeatureKey> keys);

  std::vector<ArcTemplates> kinds_;
  std::size_t views_;
  std::uint64_t identity_ = 1;
  ByKind<FeatureNumbers> numbers_;
};

// A feature of an arc: its kind, its number among those of its kind, and its name as users read it.
struct NamedFeature {
  std::size_t kind;
  std::uint32_t number;
  std::string name;
};

struct NamedArc {
  std::size_t head;
  std::size_t modifier;
  std::size_t sibling;  // the nearest one, 0 if there is none
};

// The features of an arc of a sentence that have a weight, also where they are hashed.
[[nodiscard]] std::vector<NamedFeature> named_features(const ArcExtractor& extractor, const ArcFeatures& features,
                                                       const TokenColumns& table, std::size_t sentence,
                                                       const NamedArc& arc);

}  // namespace marginloom
