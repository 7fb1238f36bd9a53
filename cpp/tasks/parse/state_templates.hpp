// Features of states of a parser, by templates: conjunctions of atoms at words of the stack, at their modifiers and at
// the next words, of valencies and of the distance of s0 from s1.
//
// Keys are sums as those of arcs are (arc_templates.hpp), of a part for every place that a template reads. Parts are
// computed once for every place and word. Templates that read the same places are a *group*. Groups that read no more
// than some places do are a *view* of the state: what they say together follows from these places alone, so that it
// need not be computed again for the next state which agrees there, as most others of a beam do. What reads still fewer
// places is a view within a view.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "features/atom_reader.hpp"
#include "features/templates.hpp"
#include "tasks/parse/arc_templates.hpp"
#include "tasks/parse/derivation.hpp"
#include "tasks/parse/feature_names.hpp"

namespace marginloom {

// Places of a state: words as in state_place_names, by position (0: none, length + 1: beyond the end); valencies of s0
// and s1, each left and right; and the class of the distance of s0 from s1, 0 if there is no s1.
inline constexpr std::size_t word_places = state_place_names.size();
inline constexpr std::size_t first_valency = word_places;
inline constexpr std::size_t distance_place = first_valency + 4;
inline constexpr std::size_t state_places = distance_place + 1;
inline constexpr std::size_t small_values = 8;  // of a place without a word
inline constexpr std::size_t most_places = 8;   // of a template
// What templates do not name: all valencies as one number, and 0.
inline constexpr std::size_t valencies_place = state_places;
inline constexpr std::size_t empty_place = valencies_place + 1;
using StatePlaces = std::array<std::uint16_t, empty_place + 1>;

[[nodiscard]] StatePlaces places_of(const ParserState& state, std::size_t length);

// The parts of keys of all groups for the words of a sentence: of each group and each of its places in turn, a row for
// every value of the place, with a number for every template of the group. A part of 0 has an atom without a value.
class StateParts {
 public:
  // Of one of a group's places, counted from 0.
  [[nodiscard]] const FeatureKey* row(std::size_t group, std::size_t place, std::size_t value) const {
    const Table& table = tables_[first_[group] + place];
    return parts_.data() + table.begin + value * table.lines;
  }

 private:
  friend class StateTemplates;
  struct Table {
    std::size_t begin;
    std::size_t lines;
  };
  std::vector<std::size_t> first_;  // table of a group
  std::vector<Table> tables_;
  std::vector<FeatureKey> parts_;
};

// Some places as one number: states with the same number agree in all of them.
class PlaceNumber {
 public:
  explicit PlaceNumber(std::span<const std::uint8_t> places);

  [[nodiscard]] bool fits() const { return count_ <= most; }
  [[nodiscard]] std::size_t size() const { return count_; }  // places that the others follow from
  [[nodiscard]] std::uint64_t of(const StatePlaces& places) const {
    std::uint64_t number = 0;
    for (const std::uint8_t place : read_) number = number << 16 | places[place];
    return number;
  }
  friend bool operator==(const PlaceNumber&, const PlaceNumber&) = default;

 private:
  static constexpr std::size_t most = 4;

  std::array<std::uint8_t, most> read_;
  std::size_t count_ = 0;
};

class StateTemplates {
 public:
  struct Group {
    std::vector<std::uint8_t> places;  // ascending
    std::vector<std::uint32_t> lines;
    std::vector<FeatureKey> constants;  // of these lines
  };
  struct View {
    PlaceNumber number;
    std::vector<std::uint32_t> groups;  // that are in none of the others
    std::vector<View> others;           // within this one; these have none
    std::uint32_t owner = 0;            // a number of its own, among all views
  };

  // Takes those that are not about labels. Numbers of views are places in `views`, to which it adds its own.
  StateTemplates(std::span<const Template> all, std::vector<Atom>& views);

  [[nodiscard]] std::size_t size() const { return lines_.size(); }
  [[nodiscard]] const std::string& name(std::size_t line) const { return templates_[line].name; }
  [[nodiscard]] const std::vector<Group>& groups() const { return groups_; }
  // Every group is in one of them.
  [[nodiscard]] const std::vector<View>& views() const { return state_views_; }
  [[nodiscard]] bool reads(std::size_t place) const { return reads_[place]; }
  // Views that some template reads at a place with a word, each once.
  [[nodiscard]] const std::vector<std::size_t>& views_at(std::size_t place) const { return views_at_[place]; }

  void compute_parts(const WordValues& words, StateParts& parts) const;

  // Calls function(line, key) for the features of a group's templates, in order.
  template <class Function>
  void visit(const StateParts& parts, std::size_t group, const StatePlaces& places, Function function) const;

  [[nodiscard]] std::string feature_name(const AtomReader& reader, std::size_t line, const StatePlaces& places) const;
  // The key of a feature of that name; throws std::invalid_argument if there can be none.
  [[nodiscard]] FeatureKey key_of(std::string_view name) const;
  [[nodiscard]] std::string described(std::string_view name) const { return marginloom::described(name, templates_); }

 private:
  struct Term {
    std::uint64_t factor;
    std::size_t place;
    std::size_t view;  // of a word
  };
  struct Line {
    FeatureKey constant = 0;
    std::vector<std::uint64_t> factors;  // of all atoms, as written
    std::vector<Term> terms;
    std::size_t places = 0;
  };
  // What one place adds to the keys of a group's lines: of every line its constant and its terms, as in `ends`.
  struct Part {
    std::size_t place;
    std::vector<FeatureKey> constants;
    std::vector<std::uint32_t> ends;
    std::vector<Term> terms;
  };

  void add_to_group(std::uint32_t line);
  void find_parts();
  void find_views();
  void add_view(View view);

  std::vector<Template> templates_;
  std::vector<Line> lines_;
  std::vector<Group> groups_;
  std::vector<Part> parts_;  // of the places of the groups in turn
  std::vector<View> state_views_;
  std::uint32_t view_count_ = 0;
  std::array<bool, state_places> reads_{};
  std::array<std::vector<std::size_t>, word_places> views_at_;
};

template <class Function>
void StateTemplates::visit(const StateParts& parts, std::size_t group, const StatePlaces& places,
                           Function function) const {
  const Group& own = groups_[group];
  std::array<const FeatureKey*, most_places> rows;
  for (std::size_t k = 0; k < own.places.size(); ++k) rows[k] = parts.row(group, k, places[own.places[k]]);
  const auto visit_lines = [&](auto count) {
    for (std::size_t line = 0; line < own.lines.size(); ++line) {
      FeatureKey sum = own.constants[line];
      bool exists = true;
      for (std::size_t k = 0; k < count; ++k) {
        const FeatureKey part = rows[k][line];
        exists &= part != 0;
        sum += part;
      }
      if (exists) function(own.lines[line], sum);
    }
  };
  switch (own.places.size()) {
    case 1:
      return visit_lines(std::integral_constant<std::size_t, 1>());
    case 2:
      return visit_lines(std::integral_constant<std::size_t, 2>());
    case 3:
      return visit_lines(std::integral_constant<std::size_t, 3>());
    default:
      return visit_lines(own.places.size());
  }
}

}  // namespace marginloom
