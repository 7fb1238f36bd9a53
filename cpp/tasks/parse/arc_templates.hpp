// Features of arcs of trees, by templates: conjunctions of atoms of a head, a modifier, and what lies between them.
//
// A feature is known by its key, a number of 64 bits:
//
//   key = c_t + sum_a f_{t,a} hash(value of atom a)    modulo 2^64
//
// with a constant and odd factors of its template t. A sum can be made of parts: what the head contributes, the
// modifier, a word between them or a sibling, and the direction and distance of the arc. So all parts are computed once
// a word, and the key of an arc takes a few additions. The upper bits of such sums are as good as random, which is what
// hashing takes; two features of the same 64 bits are a matter of 1 in 10^7 for a million features.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/parallel.hpp"
#include "features/atom_reader.hpp"
#include "features/templates.hpp"
#include "tasks/parse/feature_names.hpp"

namespace marginloom {

// What atoms look at, of the words of one sentence: `views` numbers a word, each the hash of a value, 0 if there is
// none. Positions count from 1; the root is at 0.
struct WordValues {
  std::span<const std::uint64_t> values;
  std::size_t views = 0;  // none if no atom looks at words
  std::size_t length = 0;
};

// What an atom sees at a position, where there is a word or beyond; and where there is no such place. Never 0 but at a
// word that has no value.
[[nodiscard]] std::uint64_t value_at(const WordValues& words, std::size_t view, std::ptrdiff_t position);
[[nodiscard]] std::uint64_t absent_value();
// Of the direction and of the distance of an arc.
[[nodiscard]] std::uint64_t direction_hash(std::size_t head, std::size_t modifier);
[[nodiscard]] std::uint64_t distance_hash(std::size_t head, std::size_t modifier);

// The parts of which a key is summed, for all templates of one kind and all words of a sentence. A part that is 0 has
// an atom without a value: such a feature does not exist.
class KeyParts {
 public:
  [[nodiscard]] std::size_t positions() const { return positions_; }
  [[nodiscard]] const FeatureKey* head(std::size_t line) const { return parts_.data() + line * positions_; }
  [[nodiscard]] const FeatureKey* modifier(std::size_t line) const { return head(lines_ + line); }
  // Of a word between, or of a sibling, where position 0 stands for none.
  [[nodiscard]] const FeatureKey* other(std::size_t line) const { return head(2 * lines_ + line); }

 private:
  friend class ArcTemplates;
  std::size_t lines_ = 0;
  std::size_t positions_ = 0;  // words and the root
  std::vector<FeatureKey> parts_;
};

// Templates of one kind.
class ArcTemplates {
 public:
  enum class Kind { arc, sibling, label };

  // Takes those of its kind among all templates. Numbers of views are places in `views`, to which it adds its own.
  ArcTemplates(std::span<const Template> all, Kind kind, std::vector<Atom>& views);

  [[nodiscard]] std::size_t size() const { return lines_.size(); }
  [[nodiscard]] const std::string& name(std::size_t line) const { return templates_[line].name; }
  [[nodiscard]] bool has_between(std::size_t line) const { return lines_[line].between; }
  [[nodiscard]] bool has_shape(std::size_t line) const {
    return lines_[line].direction != 0 || lines_[line].distance != 0;
  }
  [[nodiscard]] bool has_distance(std::size_t line) const { return lines_[line].distance != 0; }
  [[nodiscard]] bool reads_head(std::size_t line) const { return !lines_[line].head.empty(); }
  [[nodiscard]] bool reads_modifier(std::size_t line) const { return !lines_[line].modifier.empty(); }

  void compute_parts(const WordValues& words, KeyParts& parts) const;

  // What the direction and distance of an arc contribute.
  [[nodiscard]] FeatureKey shape(std::size_t line, std::size_t head, std::size_t modifier) const {
    const Line& what = lines_[line];
    return what.direction * direction_hash(head, modifier) + what.distance * distance_hash(head, modifier);
  }

  // Calls function(line, key) for the features of an arc; of siblings, with the nearest one (0: none).
  template <class Function>
  void visit_arc(const KeyParts& parts, std::size_t head, std::size_t modifier, Function function) const;
  template <class Function>
  void visit_sibling(const KeyParts& parts, std::size_t head, std::size_t sibling, std::size_t modifier,
                     Function function) const;

  // The name of a feature whose atoms all have values. `other` is a word between, or a sibling.
  [[nodiscard]] std::string feature_name(const AtomReader& reader, std::size_t line, std::size_t head,
                                         std::size_t modifier, std::size_t other) const;
  // The key of a feature of that name; throws std::invalid_argument if there can be none.
  [[nodiscard]] FeatureKey key_of(std::string_view name) const;
  // The name as users read it.
  [[nodiscard]] std::string described(std::string_view name) const { return marginloom::described(name, templates_); }

 private:
  struct Term {
    std::uint64_t factor;
    std::size_t view;
    std::ptrdiff_t offset;
  };
  struct Line {
    FeatureKey constant = 0;
    std::vector<std::uint64_t> factors;  // of all atoms, as written
    std::vector<Term> head, modifier, other;
    std::uint64_t direction = 0, distance = 0;  // factors, 0 if it has no such atom
    bool between = false;
  };

  std::vector<Template> templates_;
  std::vector<Line> lines_;
};

// The values of views for every word of a table, a row a word.
[[nodiscard]] std::vector<std::uint64_t> word_values(const TokenColumns& table, const AtomColumns& columns,
                                                     const Resources& resources, std::span<const Template> templates,
                                                     std::span<const Atom> views, int threads, StopRequest stop);

template <class Function>
void ArcTemplates::visit_arc(const KeyParts& parts, std::size_t head, std::size_t modifier, Function function) const {
  for (std::size_t line = 0; line < lines_.size(); ++line) {
    const FeatureKey first = parts.head(line)[head];
    const FeatureKey second = parts.modifier(line)[modifier];
    if (first == 0 || second == 0) continue;
    const FeatureKey sum = first + second + shape(line, head, modifier);
    if (!lines_[line].between) {
      function(line, sum, 0);
      continue;
    }
    // Outwards from the head, as the search does.
    const FeatureKey* others = parts.other(line);
    const std::ptrdiff_t step = modifier > head ? 1 : -1;
    for (std::size_t b = head + step; b != modifier; b += step) {
      bool is_new = others[b] != 0;
      for (std::size_t earlier = head + step; is_new && earlier != b; earlier += step) {
        is_new = others[earlier] != others[b];
      }
      if (is_new) function(line, sum + others[b], b);
    }
  }
}

template <class Function>
void ArcTemplates::visit_sibling(const KeyParts& parts, std::size_t head, std::size_t sibling, std::size_t modifier,
                                 Function function) const {
  for (std::size_t line = 0; line < lines_.size(); ++line) {
    const FeatureKey first = parts.head(line)[head];
    const FeatureKey second = parts.modifier(line)[modifier];
    const FeatureKey third = parts.other(line)[sibling];
    if (first != 0 && second != 0 && third != 0) {
      function(line, first + second + third + shape(line, head, modifier), sibling);
    }
  }
}

}  // namespace marginloom
