#include "features/atom_reader.hpp"

#include <algorithm>
#include <stdexcept>

#include "features/letters.hpp"

namespace marginloom {
namespace {

// Of name=value|name=value the value of a name; nothing if it is not there.
std::string_view value_in(std::string_view cell, std::string_view name) {
  while (!cell.empty()) {
    const std::string_view part = cell.substr(0, cell.find('|'));
    cell.remove_prefix(std::min(part.size() + 1, cell.size()));
    if (part.starts_with(name) && part.substr(name.size()).starts_with('=')) return part.substr(name.size() + 1);
  }
  return {};
}

}  // namespace

std::size_t AtomColumns::of(const Atom& atom) const {
  if (atom.kind == Atom::Kind::column || atom.kind == Atom::Kind::feats) return atom.argument;
  if (atom.kind == Atom::Kind::pos) return *pos;
  if (atom.kind == Atom::Kind::xpos) return *xpos;
  return word;
}

std::size_t AtomColumns::needed(std::span<const Template> templates) const {
  std::size_t last = 0;
  for (const Template& line : templates) {
    for (const Atom& atom : line.atoms) {
      if (atom.has_place()) last = std::max(last, of(atom));
    }
  }
  return last + 1;
}

void AtomColumns::settle(std::span<Template> templates) const {
  for (Template& line : templates) {
    bool known = (pos || !line.has(Atom::Kind::pos)) && (xpos || !line.has(Atom::Kind::xpos));
    for (Atom& atom : line.atoms) {
      const bool is_feats = atom.kind == Atom::Kind::feats;
      if (atom.kind != Atom::Kind::column && !is_feats) continue;
      const auto place = written.find(is_feats ? "feats" : atom.column);
      known &= place != written.end();
      if (known) atom.argument = place->second;
    }
    if (!known) throw std::invalid_argument("the template '" + line.name + "' reads a column that is not named");
  }
}

AtomReader::AtomReader(const TokenColumns& table, const AtomColumns& columns, const Resources& resources,
                       std::span<const Template> templates)
    : table_(table),
      columns_(columns),
      resources_(resources),
      used_(table.columns()),
      cells_(table.columns()),
      numbers_(table.columns()) {
  for (const Template& line : templates) {
    for (const Atom& atom : line.atoms) {
      if (atom.has_place()) used_.at(columns_.of(atom)) = true;
      matches_lists_ |= atom.kind == Atom::Kind::gazetteer;
    }
  }
}

void AtomReader::load(std::size_t sentence) {
  first_ = table_.sentences()[sentence];
  length_ = table_.sentences()[sentence + 1] - first_;
  for (std::size_t column = 0; column < used_.size(); ++column) {
    if (!used_[column]) continue;
    numbers_[column].clear();
    for (std::size_t t = 0; t < length_; ++t) {
      numbers_[column].push_back(cells_[column].intern(table_.cell(first_ + t, column)));
    }
  }
  if (matches_lists_) match_gazetteers();
}

bool AtomReader::append_value(const Atom& atom, std::size_t token, std::string& key) const {
  const std::string_view cell = cells_[columns_.of(atom)].name(cell_number(atom, token));
  switch (atom.kind) {
    case Atom::Kind::lower:
      append_lower(cell, key);
      return true;
    case Atom::Kind::prefix:
    case Atom::Kind::suffix: {
      const std::string_view part =
          atom.kind == Atom::Kind::prefix ? first_letters(cell, atom.argument) : last_letters(cell, atom.argument);
      key += part;
      return !part.empty();
    }
    case Atom::Kind::shape:
    case Atom::Kind::shortshape:
      append_shape(cell, atom.kind == Atom::Kind::shortshape, key);
      return true;
    case Atom::Kind::cluster: {
      const std::uint32_t number = resources_.cluster_words.find(cell);
      if (number == Vocabulary::unknown) return false;
      key += std::string_view(resources_.cluster_paths[number]).substr(0, atom.argument);
      return true;
    }
    case Atom::Kind::feats: {
      const std::string_view value = atom.column.empty() ? cell : value_in(cell, atom.column);
      key += value;
      return !value.empty();
    }
    default:
      key += cell;
      return true;
  }
}

void AtomReader::match_gazetteers() {
  matches_.resize(std::max(matches_.size(), length_));
  for (std::size_t t = 0; t < length_; ++t) matches_[t].clear();
  for (const Resources::Gazetteer& gazetteer : resources_.gazetteers) {
    for (std::size_t t = 0; t < length_;) {
      std::string phrase;
      std::size_t matched = 0;
      for (std::size_t n = 1; n <= gazetteer.longest && t + n <= length_; ++n) {
        if (n > 1) phrase += ' ';
        phrase += table_.cell(first_ + t + n - 1, columns_.word);
        if (gazetteer.phrases.find(phrase) != Vocabulary::unknown) matched = n;
      }
      for (std::size_t n = 0; n < matched; ++n) matches_[t + n].push_back(gazetteer.name + (n == 0 ? "-B" : "-I"));
      t += std::max<std::size_t>(matched, 1);
    }
  }
}

}  // namespace marginloom
