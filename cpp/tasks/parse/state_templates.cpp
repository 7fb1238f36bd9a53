#include "tasks/parse/state_templates.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace marginloom {
namespace {

constexpr std::array<std::string_view, small_values> valencies{"0", "1", "2", "3", "4", "5", "6", "7+"};

std::size_t place_of(const Atom& atom) {
  if (atom.kind == Atom::Kind::distance) return distance_place;
  const auto place = static_cast<std::size_t>(atom.place) - static_cast<std::size_t>(Atom::Place::s0);
  if (atom.kind != Atom::Kind::valency) return place;
  switch (atom.place) {
    case Atom::Place::s0_left:
      return first_valency;
    case Atom::Place::s0_right:
      return first_valency + 1;
    case Atom::Place::s1_left:
      return first_valency + 2;
    default:
      return first_valency + 3;
  }
}

std::string_view small_value(std::size_t place, std::size_t value) {
  if (place != distance_place) return valencies[value];
  return value == 0 ? no_word : distances[value];
}

}  // namespace

StatePlaces places_of(const ParserState& state, std::size_t length) {
  const auto coming = [&](std::size_t ahead) {
    return static_cast<std::uint16_t>(std::min<std::size_t>(state.next + ahead, length + 1));
  };
  const auto& [s0, s1, s2] = state.stack;
  const std::size_t distance = s1 == 0 ? 0 : distance_class(s1, s0);
  const auto& [left, right] = state.own_valency;
  const auto& [below_left, below_right] = state.below_valency;
  return {s0,
          s1,
          s2,
          coming(0),
          coming(1),
          coming(2),
          state.own[0],
          state.own[1],
          state.own[2],
          state.own[3],
          state.below[0],
          state.below[1],
          state.below[2],
          state.below[3],
          left,
          right,
          below_left,
          below_right,
          static_cast<std::uint16_t>(distance),
          static_cast<std::uint16_t>(left << 9 | right << 6 | below_left << 3 | below_right),
          0};
}

StateTemplates::StateTemplates(std::span<const Template> all, std::vector<Atom>& views) {
  constexpr std::uint64_t kind = 3;  // after those of arcs
  for (const Template& written : all) {
    if (written.has(Atom::Kind::label)) continue;
    Line line;
    const std::uint64_t number = lines_.size() + 1;
    line.constant = mixed(number * 1000 + kind) | 1;
    for (std::size_t a = 0; a < written.atoms.size(); ++a) {
      const Atom& atom = written.atoms[a];
      const std::uint64_t factor = mixed((number << 32) + (kind << 16) + a + 1) | 1;
      line.factors.push_back(factor);
      if (atom.kind == Atom::Kind::bias) continue;
      const std::size_t place = place_of(atom);
      std::size_t number_of_view = 0;
      if (atom.has_place()) {
        const Atom view{atom.kind, Atom::Place::token, 0, atom.argument, atom.column};
        auto found = std::ranges::find(views, view);
        if (found == views.end()) found = views.insert(found, view);
        number_of_view = static_cast<std::size_t>(found - views.begin());
        auto& own = views_at_[place];
        if (std::ranges::find(own, number_of_view) == own.end()) own.push_back(number_of_view);
      }
      reads_[place] = true;
      line.terms.push_back({factor, place, number_of_view});
    }
    templates_.push_back(written);
    lines_.push_back(std::move(line));
    add_to_group(static_cast<std::uint32_t>(lines_.size() - 1));
  }
  find_parts();
  find_views();
}

void StateTemplates::add_to_group(std::uint32_t line) {
  std::vector<std::uint8_t> places;
  for (const Term& term : lines_[line].terms) places.push_back(static_cast<std::uint8_t>(term.place));
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  if (places.size() > most_places) {
    throw std::invalid_argument("line " + std::to_string(templates_[line].line) + ": found '" + templates_[line].name +
                                "', expected at most 8 places of a state on a line");
  }
  lines_[line].places = places.size();
  auto group = std::ranges::find(groups_, places, &Group::places);
  if (group == groups_.end()) group = groups_.insert(group, {std::move(places), {}, {}});
  group->lines.push_back(line);
  group->constants.push_back(lines_[line].constant);
}

// Every group belongs to the first of these views that reads all of its places, or to one of its own.
void StateTemplates::find_views() {
  using Places = std::vector<std::uint8_t>;
  constexpr std::uint8_t s0 = 0, s1 = 1, s2 = 2, q0 = 3, q1 = 4, q2 = 5, own = 6, below = 10;
  constexpr std::uint8_t valency = first_valency, distance = distance_place;
  const std::array<Places, 10> known{{
      {s0, q0, q1, q2},
      {s1, q0, q1, q2},
      {s0, s1, q0, q1, q2, distance},
      {s0, own, own + 2, valency},
      {s0, own + 1, own + 3, valency + 1},
      {s1, below, below + 2, valency + 2},
      {s1, below + 1, below + 3, valency + 3},
      {s0, s1, s2, q0, q1, q2},
      {s0, s1, own, below + 1},
      {s0, s1, q0, own + 1},
  }};
  std::vector<bool> taken(groups_.size());
  const auto take = [&](Places places) {
    std::ranges::sort(places);
    View view{.number = PlaceNumber(places), .groups = {}, .others = {}};
    for (std::uint32_t group = 0; group < groups_.size(); ++group) {
      if (taken[group] || !std::ranges::includes(places, groups_[group].places)) continue;
      taken[group] = true;
      view.groups.push_back(group);
    }
    if (!view.groups.empty()) add_view(std::move(view));
  };
  for (const Places& places : known) take(places);
  for (const Group& group : groups_) take(group.places);
}

// Of a view's groups, those that read half of its places at most are views of their own: others than these are hardly
// ever known where the whole view is not.
void StateTemplates::add_view(View view) {
  const std::vector<std::uint32_t> all = std::move(view.groups);
  view.groups.clear();
  for (const std::uint32_t group : all) {
    const PlaceNumber number(groups_[group].places);
    if (number == view.number || 2 * number.size() > view.number.size() + 1) {
      view.groups.push_back(group);
      continue;
    }
    auto other = std::ranges::find(view.others, number, &View::number);
    if (other == view.others.end()) other = view.others.insert(other, {.number = number, .groups = {}, .others = {}});
    other->groups.push_back(group);
  }
  for (View& other : view.others) other.owner = view_count_++;
  view.owner = view_count_++;
  state_views_.push_back(std::move(view));
}

// The next words follow from the first of them, and the distance from the words it lies between.
PlaceNumber::PlaceNumber(std::span<const std::uint8_t> places) {
  constexpr std::size_t first_next = 3, last_next = 5;
  std::vector<std::uint8_t> read;
  const auto add = [&](std::size_t place) {
    if (std::ranges::find(read, place) == read.end()) read.push_back(static_cast<std::uint8_t>(place));
  };
  const auto is_valency = [](std::size_t place) { return place >= first_valency && place < distance_place; };
  const bool many = std::ranges::count_if(places, is_valency) > 1;
  for (const std::size_t place : places) {
    if (place == distance_place) {
      add(0);
      add(1);
    } else if (is_valency(place)) {
      add(many ? valencies_place : place);
    } else {
      add(place > first_next && place <= last_next ? first_next : place);
    }
  }
  count_ = read.size();
  read_.fill(empty_place);
  if (fits()) std::ranges::copy(read, read_.begin());
}

void StateTemplates::find_parts() {
  for (const Group& group : groups_) {
    for (const std::size_t place : group.places) {
      Part& part = parts_.emplace_back();
      part.place = place;
      for (const std::uint32_t line : group.lines) {
        part.constants.push_back(lines_[line].constant);
        std::ranges::copy_if(lines_[line].terms, std::back_inserter(part.terms),
                             [&](const Term& term) { return term.place == place; });
        part.ends.push_back(static_cast<std::uint32_t>(part.terms.size()));
      }
    }
  }
}

void StateTemplates::compute_parts(const WordValues& words, StateParts& parts) const {
  static const std::uint64_t none = text_hash(no_word), after = text_hash(after_end);
  const std::size_t length = words.length;
  const auto values_at = [&](std::size_t place) { return place < word_places ? length + 2 : small_values; };
  parts.first_.clear();
  parts.tables_.clear();
  std::size_t size = 0;
  for (const Group& group : groups_) {
    parts.first_.push_back(parts.tables_.size());
    for (const std::size_t place : group.places) {
      parts.tables_.push_back({size, group.lines.size()});
      size += group.lines.size() * values_at(place);
    }
  }
  parts.parts_.resize(size);
  FeatureKey* to = parts.parts_.data();
  // Writes a row, seen(term) being what there is at the place.
  const auto write = [&to](const Part& part, auto seen) {
    const Term* term = part.terms.data();
    for (std::size_t line = 0; line < part.constants.size(); ++line) {
      FeatureKey sum = part.constants[line];
      bool exists = true;
      for (const Term* const end = part.terms.data() + part.ends[line]; term != end; ++term) {
        const std::uint64_t value = seen(*term);
        exists &= value != 0;
        sum += term->factor * value;
      }
      *to++ = exists ? sum : 0;
    }
  };
  for (const Part& part : parts_) {
    if (part.place >= word_places) {
      for (std::size_t value = 0; value < small_values; ++value) {
        write(part, [hash = text_hash(small_value(part.place, value))](const Term&) { return hash; });
      }
      continue;
    }
    write(part, [](const Term&) { return none; });
    for (const std::uint64_t* row = words.values.data(); row != words.values.data() + length * words.views;
         row += words.views) {
      write(part, [row](const Term& term) { return row[term.view]; });
    }
    write(part, [](const Term&) { return after; });
  }
}

std::string StateTemplates::feature_name(const AtomReader& reader, std::size_t line, const StatePlaces& places) const {
  std::string name = std::to_string(line) + ':';
  const Template& what = templates_[line];
  for (std::size_t a = 0; a < what.atoms.size(); ++a) {
    const Atom& atom = what.atoms[a];
    if (a > 0) name += value_separator;
    if (atom.kind == Atom::Kind::bias) continue;
    const std::size_t place = place_of(atom);
    const std::size_t value = places[place];
    if (place >= word_places) {
      name += small_value(place, value);
    } else if (value == 0) {
      name += no_word;
    } else if (value > reader.length()) {
      name += after_end;
    } else {
      append_name_value(reader, atom, value - 1, name);
    }
  }
  return name;
}

FeatureKey StateTemplates::key_of(std::string_view name) const {
  std::size_t line = 0;
  const auto values = values_in(name, templates_, line);
  const Line& what = lines_[line];
  FeatureKey key = (what.places + 1) * what.constant;
  for (std::size_t a = 0; a < values.size(); ++a) {
    if (templates_[line].atoms[a].kind != Atom::Kind::bias) key += what.factors[a] * text_hash(values[a]);
  }
  return key;
}

}  // namespace marginloom
