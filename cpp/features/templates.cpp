#include "features/templates.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <stdexcept>

#include "core/shown.hpp"

namespace marginloom {
namespace {

// Whom an atom is for: a bit for every scope.
enum Use : unsigned { in_tokens = 1, in_arcs = 2, in_states = 4, in_spans = 8, in_trees = 6, in_all = 15 };

struct AtomForm {
  std::string_view name;
  Atom::Kind kind;
  int arguments;  // in brackets
  unsigned use = in_all;

  [[nodiscard]] bool fits(Scope scope) const { return (use >> static_cast<unsigned>(scope) & 1u) != 0; }
};

constexpr std::array forms{
    AtomForm{"bias", Atom::Kind::bias, 0},
    AtomForm{"word", Atom::Kind::word, 1},
    AtomForm{"lower", Atom::Kind::lower, 1},
    AtomForm{"prefix", Atom::Kind::prefix, 2},
    AtomForm{"suffix", Atom::Kind::suffix, 2},
    AtomForm{"shape", Atom::Kind::shape, 1},
    AtomForm{"shortshape", Atom::Kind::shortshape, 1},
    AtomForm{"pos", Atom::Kind::pos, 1},
    AtomForm{"xpos", Atom::Kind::xpos, 1, in_trees},
    AtomForm{"column", Atom::Kind::column, 2, in_tokens | in_trees},
    AtomForm{"cluster", Atom::Kind::cluster, 2},
    AtomForm{"feats", Atom::Kind::feats, 1},
    AtomForm{"gazetteer", Atom::Kind::gazetteer, 1},
    AtomForm{"direction", Atom::Kind::direction, 0, in_arcs},
    AtomForm{"distance", Atom::Kind::distance, 0, in_trees | in_spans},
    AtomForm{"label", Atom::Kind::label, 0, in_trees},
    AtomForm{"label", Atom::Kind::label, 1, in_tokens},
    AtomForm{"valency", Atom::Kind::valency, 1, in_states},
    AtomForm{"length", Atom::Kind::length, 0, in_spans},
    AtomForm{"order", Atom::Kind::order, 0, in_spans},
    AtomForm{"entities", Atom::Kind::entities, 0, in_spans},
    AtomForm{"pair", Atom::Kind::pair, 0, in_spans},
};

struct NamedPlace {
  char name;
  Atom::Place place;
};

constexpr std::array places{NamedPlace{'h', Atom::Place::head},        NamedPlace{'m', Atom::Place::modifier},
                            NamedPlace{'b', Atom::Place::between},     NamedPlace{'s', Atom::Place::sibling},
                            NamedPlace{'g', Atom::Place::grandparent}, NamedPlace{'p', Atom::Place::previous},
                            NamedPlace{'n', Atom::Place::next},        NamedPlace{'f', Atom::Place::first_child},
                            NamedPlace{'l', Atom::Place::last_child}};

struct NamedSpan {
  std::string_view name;
  Atom::Place place;
};

constexpr std::array span_places{
    NamedSpan{"head.", Atom::Place::head},        NamedSpan{"tail.", Atom::Place::tail},
    NamedSpan{"left.", Atom::Place::left},        NamedSpan{"right.", Atom::Place::right},
    NamedSpan{"between.", Atom::Place::between},  NamedSpan{"around.", Atom::Place::around},
    NamedSpan{"sentence.", Atom::Place::sentence}};

struct NamedPart {
  std::string_view name;
  Atom::Part part;
};

constexpr std::array span_parts{NamedPart{"first", Atom::Part::first}, NamedPart{"last", Atom::Part::last},
                                NamedPart{"every", Atom::Part::every}, NamedPart{"pairs", Atom::Part::pairs},
                                NamedPart{"all", Atom::Part::all}};

constexpr int farthest = 1000;
constexpr std::string_view feats_dot = "feats.";

[[noreturn]] void fail(std::size_t line, std::string_view found, const std::string& expected) {
  throw std::invalid_argument("line " + std::to_string(line) + ": found '" + shown(found) + "', expected " + expected);
}

std::optional<int> take_number(std::string_view& text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || std::abs(number) > farthest) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// A column's number, or its name, which begins otherwise.
std::string take_column(std::string_view& text) {
  if (!text.empty() && std::string_view("+-0123456789").find(text.front()) != std::string_view::npos) {
    const auto number = take_number(text);
    return number && *number >= 1 ? std::to_string(*number) : std::string();
  }
  const std::string name(text.substr(0, text.find_first_of(",[]")));
  text.remove_prefix(name.size());
  return name;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// Of a state: one of its words.
bool take_state_place(std::string_view& text, Atom& atom) {
  const std::string_view name = text.substr(0, text.find_first_of(",]"));
  const auto* found = std::ranges::find(state_place_names, name);
  if (found == state_place_names.end()) return false;
  text.remove_prefix(name.size());
  const auto number = static_cast<int>(Atom::Place::s0) + static_cast<int>(found - state_place_names.begin());
  atom.place = static_cast<Atom::Place>(number);
  const auto counted = {Atom::Place::s0_left, Atom::Place::s0_right, Atom::Place::s1_left, Atom::Place::s1_right};
  return atom.kind != Atom::Kind::valency || std::ranges::find(counted, atom.place) != counted.end();
}

// Of a span or a pair: a place and a part of it, such as head.last+1, where the two go together.
bool take_part(std::string_view& text, Atom& atom) {
  atom.place = Atom::Place::span;
  for (const NamedSpan& known : span_places) {
    if (!text.starts_with(known.name)) continue;
    atom.place = known.place;
    text.remove_prefix(known.name.size());
    break;
  }
  const auto* named =
      std::ranges::find_if(span_parts, [&](const NamedPart& known) { return text.starts_with(known.name); });
  if (named == span_parts.end()) return false;
  text.remove_prefix(named->name.size());
  atom.part = named->part;
  const bool one_token = atom.part == Atom::Part::first || atom.part == Atom::Part::last;
  const bool is_bag = atom.place == Atom::Place::around || atom.place == Atom::Place::sentence;
  if (is_bag && atom.part != Atom::Part::every) return false;
  if (atom.part == Atom::Part::pairs && atom.place != Atom::Place::between) return false;
  if (atom.kind == Atom::Kind::gazetteer && !one_token && atom.part != Atom::Part::every) return false;
  if (!text.starts_with('+') && !text.starts_with('-')) return true;
  const auto offset = one_token && atom.place != Atom::Place::between ? take_number(text) : std::nullopt;
  if (offset) atom.offset = *offset;
  return offset.has_value();
}

// The position in brackets: a distance from the token, one of an arc's words with a distance from it, or what states
// and spans have instead.
bool take_position(std::string_view& text, Scope scope, Atom& atom) {
  if (scope == Scope::spans) return take_part(text, atom);
  if (scope == Scope::states) return take_state_place(text, atom);
  if (scope == Scope::arcs) {
    const auto* named = text.empty() ? places.end() : std::ranges::find(places, text.front(), &NamedPlace::name);
    if (named == places.end()) return false;
    text.remove_prefix(1);
    atom.place = named->place;
    if (!text.starts_with('+') && !text.starts_with('-')) return true;
    if (named->place == Atom::Place::between) return false;
  }
  const auto offset = take_number(text);
  if (offset) atom.offset = *offset;
  return offset.has_value();
}

// How a position is written.
std::string position_of(Scope scope) {
  constexpr std::array positions{"[-1]", "[m-1]", "[s0]", "[head.last+1]"};
  return positions[static_cast<std::size_t>(scope)];
}

// How an atom with a place is written.
std::string usage_of(const AtomForm& form, Scope scope) {
  std::string example = std::string(form.name) + position_of(scope);
  if (form.arguments == 2) example.insert(example.size() - 1, ",3");
  if (form.kind == Atom::Kind::valency) return "valency[s0.l], at s0.l, s0.r, s1.l or s1.r";
  if (scope == Scope::tokens) return example;
  if (scope == Scope::arcs) {
    return example +
           ", at h, m or s, or [b] without a distance, with label also at g, p, n, f or l (s0, q0 and so on are for "
           "method "
           "transition)";
  }
  if (scope == Scope::spans) {
    return example + ", at first, last, every or all of the span itself, or of head, tail, left, right or between, " +
           "where there is also between.pairs, or at around.every or sentence.every";
  }
  std::string places;
  for (const std::string_view name : state_place_names) (places += places.empty() ? "" : " ") += name;
  return example + ", at one of " + places + " (h and m are for method graph, and for lines with label)";
}

Atom parse_atom(std::string_view written, std::size_t line, Scope scope) {
  std::string_view rest = written;
  // Names in FEATS may have brackets, as in feats.Number[psor][m].
  const bool is_named = rest.starts_with(feats_dot);
  const std::size_t bracket = is_named ? rest.rfind('[') : rest.find('[');
  const std::string_view whole = rest.substr(0, std::min(bracket, rest.size()));
  const std::string_view name = is_named ? feats_dot.substr(0, feats_dot.size() - 1) : whole;
  rest.remove_prefix(whole.size());
  const auto* form =
      std::ranges::find_if(forms, [&](const AtomForm& known) { return known.name == name && known.fits(scope); });
  if (form == forms.end()) {
    std::string names;
    for (const AtomForm& known : forms) {
      if (known.fits(scope)) (names += names.empty() ? "" : ", ") += known.name;
    }
    fail(line, written, "one of " + names);
  }
  Atom atom{form->kind};
  if (is_named) {
    atom.column = whole.substr(feats_dot.size());
    if (atom.column.empty())
      fail(line, written, "the name of a value in FEATS, such as feats.Case" + position_of(scope));
  }
  if (form->arguments == 0) {
    if (!rest.empty()) fail(line, written, std::string(name) + " without brackets");
    return atom;
  }
  const std::string usage = usage_of(*form, scope);
  if (!take(rest, '[')) fail(line, written, "something like " + usage);
  if (!take_position(rest, scope, atom)) fail(line, written, "something like " + usage);
  if (atom.kind == Atom::Kind::column) {
    if (take(rest, ',')) atom.column = take_column(rest);
    if (atom.column.empty()) fail(line, written, "something like " + usage);
  } else if (form->arguments == 2) {
    const auto argument = take(rest, ',') ? take_number(rest) : std::nullopt;
    if (!argument || *argument < 1) fail(line, written, "something like " + usage);
    atom.argument = static_cast<std::size_t>(*argument);
  }
  if (!take(rest, ']') || !rest.empty()) fail(line, written, "something like " + usage);
  return atom;
}

// Takes the labels out of a token's template and notes which they are.
void note_labels(Template& result, std::size_t line) {
  std::size_t labels = 0;
  for (const Atom& atom : result.atoms) {
    if (atom.kind != Atom::Kind::label) continue;
    ++labels;
    if (atom.offset == -1) result.label_before = true;
    if (atom.offset == -2) result.label_before_that = true;
  }
  if (labels == 0) return;
  if (labels != std::size_t{result.label_before} + std::size_t{result.label_before_that}) {
    fail(line, result.name, "label[-1] or label[-2], each at most once on a line");
  }
  std::erase_if(result.atoms, [](const Atom& atom) { return atom.kind == Atom::Kind::label; });
  if (result.atoms.empty()) {
    fail(line, result.name,
         "something observed as well, as in label[-1] word[0]: labels in a row have weights without a template");
  }
}

// What an arc's template may not combine.
void check_arc_template(const Template& line, std::size_t number) {
  const auto about = [&](Atom::Place place) { return line.has(place); };
  if (std::ranges::count(line.atoms, Atom::Place::between, &Atom::place) > 1) {
    fail(number, line.name, "at most one atom at b on a line");
  }
  if (about(Atom::Place::between) + about(Atom::Place::sibling) + line.has(Atom::Kind::label) > 1) {
    fail(number, line.name, "only one of b, s and label on a line");
  }
  if (reads_tree(line) && !line.has(Atom::Kind::label)) {
    fail(number, line.name, "label on the same line, since g, p, n, f and l are places of a tree that is known");
  }
}

// What a span's template may not combine.
void check_span_template(const Template& line, std::size_t number) {
  if (std::ranges::count_if(line.atoms, &Atom::lists) > 1) {
    fail(number, line.name, "at most one atom with several values (every, pairs or gazetteer) on a line");
  }
  const auto is_own = [](const Atom& atom) {
    return atom.kind == Atom::Kind::length ||
           (atom.has_place() && (atom.place == Atom::Place::span || atom.place == Atom::Place::around));
  };
  if (is_about_pairs(line) && std::ranges::any_of(line.atoms, is_own)) {
    fail(number, line.name, "atoms of one span, or of a pair, such as word[head.last], but not both on a line");
  }
}

// Between blanks, without a comment.
std::vector<std::string_view> words_of(std::string_view rest) {
  std::vector<std::string_view> words;
  rest = rest.substr(0, rest.find('#'));
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r"), rest.size()));
    if (rest.empty()) return words;
    words.push_back(rest.substr(0, rest.find_first_of(" \t\r")));
    rest.remove_prefix(words.back().size());
  }
}

}  // namespace

bool reads_tree(const Template& line) {
  return std::ranges::any_of(
      line.atoms, [](const Atom& atom) { return atom.has_place() && atom.place >= Atom::Place::grandparent; });
}

bool is_about_pairs(const Template& line) {
  return std::ranges::any_of(line.atoms, [](const Atom& atom) {
    if (!atom.has_place()) {
      return atom.kind == Atom::Kind::distance || (atom.kind >= Atom::Kind::order && atom.kind <= Atom::Kind::pair);
    }
    return atom.place != Atom::Place::span && atom.place != Atom::Place::around && atom.place != Atom::Place::sentence;
  });
}

std::vector<Template> parse_templates(std::string_view text, Scope scope) {
  std::vector<Template> templates;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::string_view written_line = text.substr(0, std::min(text.find('\n'), text.size()));
    text.remove_prefix(std::min(written_line.size() + 1, text.size()));
    const std::vector<std::string_view> words = words_of(written_line);
    const bool of_label = scope == Scope::states && std::ranges::find(words, "label") != words.end();
    const Scope own = of_label ? Scope::arcs : scope;
    Template result;
    for (const std::string_view written : words) {
      result.atoms.push_back(parse_atom(written, line, own));
      (result.name += result.name.empty() ? "" : " ") += written;
    }
    if (result.atoms.empty()) continue;
    if (own == Scope::arcs) check_arc_template(result, line);
    if (scope == Scope::spans) check_span_template(result, line);
    if (scope == Scope::tokens) note_labels(result, line);
    if (scope == Scope::tokens && std::ranges::count(result.atoms, Atom::Kind::gazetteer, &Atom::kind) > 1) {
      fail(line, result.name, "at most one gazetteer atom on a line");
    }
    if (std::ranges::find(templates, result.name, &Template::name) != templates.end()) {
      fail(line, result.name, "every template once");
    }
    result.line = line;
    templates.push_back(std::move(result));
  }
  if (templates.empty()) {
    constexpr std::array examples{"0]", "m]", "s0]", "first]"};
    throw std::invalid_argument(std::string("found no template, expected one a line, such as word[") +
                                examples[static_cast<std::size_t>(scope)]);
  }
  return templates;
}

}  // namespace marginloom
