#include "tasks/parse/arc_templates.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <stdexcept>

#include "core/parallel.hpp"

namespace marginloom {
namespace {

constexpr std::string_view root_value = "<root>";
constexpr std::array<std::string_view, 2> directions{"left", "right"};

// The value beyond the words of a sentence.
std::string_view outside_value(std::ptrdiff_t position) {
  return position < 0 ? before_start : position == 0 ? root_value : after_end;
}

bool is_of(const Template& line, ArcTemplates::Kind kind) {
  if (line.has(Atom::Kind::label)) return kind == ArcTemplates::Kind::label;
  if (line.has(Atom::Place::sibling)) return kind == ArcTemplates::Kind::sibling;
  return kind == ArcTemplates::Kind::arc;
}

}  // namespace

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

std::uint64_t value_at(const WordValues& words, std::size_t view, std::ptrdiff_t position) {
  static const std::uint64_t before = text_hash(before_start), root = text_hash(root_value),
                             after = text_hash(after_end);
  if (position >= 1 && position <= static_cast<std::ptrdiff_t>(words.length)) {
    return words.values[static_cast<std::size_t>(position - 1) * words.views + view];
  }
  return position < 0 ? before : position == 0 ? root : after;
}

std::uint64_t absent_value() {
  static const std::uint64_t none = text_hash(no_word);
  return none;
}

void ArcTemplates::compute_parts(const WordValues& words, KeyParts& parts) const {
  const std::size_t length = words.length;
  parts.lines_ = lines_.size();
  parts.positions_ = length + 1;
  parts.parts_.resize(3 * lines_.size() * parts.positions_);
  const auto fill = [&](const std::vector<Term>& terms, FeatureKey constant, FeatureKey* row) {
    for (std::size_t position = 0; position <= length; ++position) {
      FeatureKey sum = constant;
      for (const Term& term : terms) {
        const std::uint64_t seen = value_at(words, term.view, static_cast<std::ptrdiff_t>(position) + term.offset);
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
    for (const Term& term : line.other) others[0] += term.factor * absent_value();
  }
}

std::uint64_t direction_hash(std::size_t head, std::size_t modifier) {
  static const std::array hashes{text_hash(directions[0]), text_hash(directions[1])};
  return hashes[modifier > head];
}

std::uint64_t distance_hash(std::size_t head, std::size_t modifier) {
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
      name += no_word;
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
    append_name_value(reader, atom, token, name);
  }
  return name;
}

FeatureKey ArcTemplates::key_of(std::string_view name) const {
  std::size_t line = 0;
  const auto values = values_in(name, templates_, line);
  const Line& what = lines_[line];
  FeatureKey key = what.other.empty() ? 2 * what.constant : 3 * what.constant;
  for (std::size_t a = 0; a < values.size(); ++a) {
    const Atom& atom = templates_[line].atoms[a];
    if (atom.kind != Atom::Kind::bias && atom.kind != Atom::Kind::label) key += what.factors[a] * text_hash(values[a]);
  }
  return key;
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
