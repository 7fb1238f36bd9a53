#include "tasks/parse/arc_templates.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <optional>
#include <stdexcept>

#include "core/parallel.hpp"

namespace marginloom {
namespace {

constexpr char value_separator = '\x1F';
constexpr char escape = '\x1E';
constexpr std::string_view root_value = "<root>";
constexpr std::string_view no_sibling = "<none>";
constexpr std::array<std::string_view, 2> directions{"left", "right"};
constexpr std::array<std::string_view, 8> distances{"0", "1", "2", "3", "4", "5", "6-10", "11+"};

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

std::size_t distance_class(std::size_t head, std::size_t modifier) {
  const std::size_t distance = head > modifier ? head - modifier : modifier - head;
  return distance <= 5 ? distance : distance <= 10 ? 6 : 7;
}

// The value beyond the words of a sentence.
std::string_view outside_value(std::ptrdiff_t position) {
  return position < 0 ? before_start : position == 0 ? root_value : after_end;
}

// Writes the separator otherwise where it is a part of the value that begins there.
void escape_value(std::string& name, std::size_t begin) {
  for (std::size_t place = begin; place < name.size(); ++place) {
    if (name[place] != value_separator && name[place] != escape) continue;
    name.insert(place + 1, 1, name[place] == escape ? '0' : '1');
    name[place++] = escape;
  }
}

std::string unescaped(std::string_view written) {
  std::string value;
  for (std::size_t place = 0; place < written.size(); ++place) {
    const bool escapes = written[place] == escape && place + 1 < written.size();
    value += !escapes ? written[place] : written[++place] == '0' ? escape : value_separator;
  }
  return value;
}

bool is_of(const Template& line, ArcTemplates::Kind kind) {
  if (line.has(Atom::Kind::label)) return kind == ArcTemplates::Kind::label;
  if (line.has(Atom::Place::sibling)) return kind == ArcTemplates::Kind::sibling;
  return kind == ArcTemplates::Kind::arc;
}

}  // namespace

std::uint64_t text_hash(std::string_view text) {
  std::uint64_t hash = 0x9E3779B97F4A7C15ULL ^ text.size();
  for (const char letter : text) hash = mixed(hash ^ static_cast<unsigned char>(letter));
  return hash == 0 ? 1 : hash;
}

ArcTemplates::ArcTemplates(std::span<const Template> all, Kind kind, std::vector<Atom>& views) {
  for (const Template& written : all) {
    if (!is_of(written, kind)) continue;
    Line line;
    const std::uint64_t number = lines_.size() + 1;
    line.constant = mixed(number * 1000 + static_cast<std::uint64_t>(kind)) | 1;
    for (std::size_t a = 0; a < written.atoms.size(); ++a) {
      const Atom& atom = written.atoms[a];
      const std::uint64_t factor = mixed((number << 32) + (static_cast<std::uint64_t>(kind) << 16) + a + 1) | 1;
      line.factors.push_back(factor);
      if (atom.kind == Atom::Kind::direction) line.direction = factor;
      if (atom.kind == Atom::Kind::distance) line.distance = factor;
      if (!atom.has_place()) continue;
      const Atom view{atom.kind, Atom::Place::token, 0, atom.argument, atom.column};
      auto found = std::ranges::find(views, view);
      if (found == views.end()) found = views.insert(found, view);
      const Term term{factor, static_cast<std::size_t>(found - views.begin()), atom.offset};
      line.between |= atom.place == Atom::Place::between;
      (atom.place == Atom::Place::head       ? line.head
       : atom.place == Atom::Place::modifier ? line.modifier
                                             : line.other)
          .push_back(term);
    }
    templates_.push_back(written);
    lines_.push_back(std::move(line));
  }
}

void ArcTemplates::compute_parts(const WordValues& words, KeyParts& parts) const {
  static const std::uint64_t before = text_hash(before_start), root = text_hash(root_value),
                             after = text_hash(after_end), none = text_hash(no_sibling);
  const std::size_t length = words.length;
  parts.lines_ = lines_.size();
  parts.positions_ = length + 1;
  parts.parts_.resize(3 * lines_.size() * parts.positions_);
  const auto value = [&](std::size_t view, std::ptrdiff_t position) {
    if (position >= 1 && position <= static_cast<std::ptrdiff_t>(length)) {
      return words.values[static_cast<std::size_t>(position - 1) * words.views + view];
    }
    return position < 0 ? before : position == 0 ? root : after;
  };
  const auto fill = [&](const std::vector<Term>& terms, FeatureKey constant, FeatureKey* row) {
    for (std::size_t position = 0; position <= length; ++position) {
      FeatureKey sum = constant;
      for (const Term& term : terms) {
        const std::uint64_t seen = value(term.view, static_cast<std::ptrdiff_t>(position) + term.offset);
        if (seen == 0) {
          sum = 0;
          break;
        }
        sum += term.factor * seen;
      }
      row[position] = sum;
    }
  };
  for (std::size_t t = 0; t < lines_.size(); ++t) {
    const Line& line = lines_[t];
    FeatureKey* const row = parts.parts_.data() + t * parts.positions_;
    fill(line.head, line.constant, row);
    fill(line.modifier, line.constant, row + lines_.size() * parts.positions_);
    FeatureKey* const others = row + 2 * lines_.size() * parts.positions_;
    fill(line.other, line.constant, others);
    if (line.other.empty() || line.between) continue;
    others[0] = line.constant;
    for (const Term& term : line.other) others[0] += term.factor * none;
  }
}

std::uint64_t ArcTemplates::direction_hash(std::size_t head, std::size_t modifier) {
  static const std::array hashes{text_hash(directions[0]), text_hash(directions[1])};
  return hashes[modifier > head];
}

std::uint64_t ArcTemplates::distance_hash(std::size_t head, std::size_t modifier) {
  static const std::array hashes = [] {
    std::array<std::uint64_t, distances.size()> all;
    std::ranges::transform(distances, all.begin(), text_hash);
    return all;
  }();
  return hashes[distance_class(head, modifier)];
}

std::string ArcTemplates::feature_name(const AtomReader& reader, std::size_t line, std::size_t head,
                                       std::size_t modifier, std::size_t other) const {
  std::string name = std::to_string(line) + ':';
  const Template& what = templates_[line];
  for (std::size_t a = 0; a < what.atoms.size(); ++a) {
    const Atom& atom = what.atoms[a];
    if (a > 0) name += value_separator;
    if (atom.kind == Atom::Kind::direction) name += directions[modifier > head];
    if (atom.kind == Atom::Kind::distance) name += distances[distance_class(head, modifier)];
    if (!atom.has_place()) continue;
    if (atom.place == Atom::Place::sibling && other == 0) {
      name += no_sibling;
      continue;
    }
    const std::size_t word = atom.place == Atom::Place::head       ? head
                             : atom.place == Atom::Place::modifier ? modifier
                                                                   : other;
    const auto position = static_cast<std::ptrdiff_t>(word) + atom.offset;
    if (position < 1 || position > static_cast<std::ptrdiff_t>(reader.length())) {
      name += outside_value(position);
      continue;
    }
    const auto token = static_cast<std::size_t>(position - 1);
    const std::size_t begin = name.size();
    if (atom.kind == Atom::Kind::gazetteer) {
      for (const std::string& match : reader.gazetteer_matches(token)) name += match + '|';
    } else {
      reader.append_value(atom, token, name);
    }
    escape_value(name, begin);
  }
  return name;
}

std::vector<std::string> ArcTemplates::values_in(std::string_view name, std::size_t& line) const {
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), line);
  const auto used = static_cast<std::size_t>(end - name.data());
  if (error != std::errc() || line >= lines_.size() || used >= name.size() || name[used] != ':') {
    throw std::invalid_argument("a feature's name does not begin with the number of a template");
  }
  std::vector<std::string> values;
  for (std::size_t begin = used + 1; begin <= name.size();) {
    const std::size_t stop = std::min(name.find(value_separator, begin), name.size());
    values.push_back(unescaped(name.substr(begin, stop - begin)));
    begin = stop + 1;
  }
  if (values.size() != templates_[line].atoms.size()) {
    throw std::invalid_argument("a feature's name has not as many values as its template has atoms");
  }
  return values;
}

FeatureKey ArcTemplates::key_of(std::string_view name) const {
  std::size_t line = 0;
  const auto values = values_in(name, line);
  const Line& what = lines_[line];
  FeatureKey key = what.other.empty() ? 2 * what.constant : 3 * what.constant;
  for (std::size_t a = 0; a < values.size(); ++a) {
    const Atom& atom = templates_[line].atoms[a];
    if (atom.kind != Atom::Kind::bias && atom.kind != Atom::Kind::label) key += what.factors[a] * text_hash(values[a]);
  }
  return key;
}

std::string ArcTemplates::described(std::string_view name) const {
  std::size_t line = 0;
  const auto values = values_in(name, line);
  std::string text;
  std::string_view rest = templates_[line].name;
  for (const std::string& value : values) {
    const std::string_view atom = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(atom.size() + 1, rest.size()));
    if (atom == "label") continue;
    (text += text.empty() ? "" : " ") += atom;
    if (!value.empty()) (text += '=') += value;
  }
  return text;
}

namespace {

// What one thread has computed for a cell once, it does not compute again.
class ViewCache {
 public:
  std::uint64_t value(const AtomReader& reader, const Atom& view, std::size_t token) {
    if (view.kind == Atom::Kind::gazetteer) {
      text_.clear();
      for (const std::string& match : reader.gazetteer_matches(token)) text_ += match + '|';
      return text_.empty() ? 0 : text_hash(text_);
    }
    const std::uint32_t cell = reader.cell_number(view, token);
    if (cell >= known_.size()) known_.resize(std::max<std::size_t>(cell + 1, 2 * known_.size()));
    if (!known_[cell]) {
      text_.clear();
      known_[cell] = reader.append_value(view, token, text_) ? text_hash(text_) : 0;
    }
    return *known_[cell];
  }

 private:
  std::vector<std::optional<std::uint64_t>> known_;
  std::string text_;
};

}  // namespace

std::vector<std::uint64_t> word_values(const TokenColumns& table, const AtomColumns& columns,
                                       const Resources& resources, std::span<const Template> templates,
                                       std::span<const Atom> views, int threads, StopRequest stop) {
  const auto& offsets = table.sentences();
  std::vector<std::uint64_t> values(offsets.back() * views.size());
  if (offsets.back() == 0) return values;
  if (table.columns() < columns.needed(templates)) {
    throw std::invalid_argument("found " + std::to_string(table.columns()) + " columns, and the features read column " +
                                std::to_string(columns.needed(templates)));
  }
  const std::size_t count = offsets.size() - 1;
  const std::size_t parts = std::clamp<std::size_t>(count / 64, 1, static_cast<std::size_t>(std::max(threads, 1)));
  std::atomic<bool> ended{false};
  const auto fill_part = [&](int thread, std::size_t part, std::size_t) {
    AtomReader reader(table, columns, resources, templates);
    std::vector<ViewCache> caches(views.size());
    for (std::size_t i = count * part / parts; i < count * (part + 1) / parts; ++i) {
      if (told_to_stop() || (thread == 0 && stop.stopped())) ended = true;
      if (ended.load(std::memory_order_relaxed)) return;
      reader.load(i);
      for (std::size_t t = 0; t < reader.length(); ++t) {
        count_steps(16 * views.size());
        std::uint64_t* row = values.data() + (offsets[i] + t) * views.size();
        for (std::size_t v = 0; v < views.size(); ++v) row[v] = caches[v].value(reader, views[v], t);
      }
    }
  };
  if (!parallel_for(parts, 1, threads, stop, fill_part) || ended) throw Interrupted();
  return values;
}

}  // namespace marginloom
