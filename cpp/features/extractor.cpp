#include "features/extractor.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "features/numbered_rows.hpp"

namespace marginloom {
namespace {

constexpr char separator = '\x1F';
constexpr std::uint32_t not_computed = Vocabulary::unknown - 1;

bool reads_one_cell(const Template& line) {
  return line.atoms.size() == 1 && line.atoms[0].kind != Atom::Kind::bias &&
         line.atoms[0].kind != Atom::Kind::gazetteer;
}

}  // namespace

// One thread's memory: what it has computed for a word once, it does not compute again.
class Extractor::Workspace {
 public:
  Workspace(const Extractor& extractor, const TokenColumns& table, Numbering numbering)
      : extractor_(extractor),
        reader_(table, extractor.columns_, extractor.resources_, extractor.templates_),
        numbering_(std::move(numbering)),
        cached_(extractor.templates_.size()) {}

  void extract(std::size_t sentence, SparseRows& rows) {
    reader_.load(sentence);
    for (std::size_t t = 0; t < reader_.length(); ++t) {
      count_steps(16 * extractor_.templates_.size());
      for (std::size_t line = 0; line < extractor_.templates_.size(); ++line) add_features(line, t, rows.features);
      rows.tokens.push_back(rows.features.size());
    }
  }

 private:
  [[nodiscard]] bool is_inside(std::ptrdiff_t place) const {
    return place >= 0 && place < static_cast<std::ptrdiff_t>(reader_.length());
  }

  void add_features(std::size_t line, std::size_t t, std::vector<std::uint32_t>& features) {
    const Template& what = extractor_.templates_[line];
    if (reads_one_cell(what)) {
      const std::uint32_t number = cached_number(line, t);
      if (number != Vocabulary::unknown) features.push_back(number);
      return;
    }
    const auto gazetteer = std::ranges::find(what.atoms, Atom::Kind::gazetteer, &Atom::kind);
    if (gazetteer == what.atoms.end()) {
      add_key(line, t, {}, features);
      return;
    }
    const auto place = static_cast<std::ptrdiff_t>(t) + gazetteer->offset;
    if (!is_inside(place)) return;
    for (const std::string& match : reader_.gazetteer_matches(static_cast<std::size_t>(place))) {
      add_key(line, t, match, features);
    }
  }

  std::uint32_t cached_number(std::size_t line, std::size_t t) {
    const Atom& atom = extractor_.templates_[line].atoms[0];
    const auto place = static_cast<std::ptrdiff_t>(t) + atom.offset;
    // Slots 0 and 1 are for the places beyond the two ends.
    const std::size_t slot = is_inside(place) ? 2 + reader_.cell_number(atom, static_cast<std::size_t>(place))
                             : place < 0      ? 0
                                              : 1;
    std::vector<std::uint32_t>& cache = cached_[line];
    if (slot >= cache.size()) cache.resize(std::max(slot + 1, 2 * cache.size()), not_computed);
    if (cache[slot] == not_computed) cache[slot] = number_of_key(line, t, {});
    return cache[slot];
  }

  void add_key(std::size_t line, std::size_t t, std::string_view match, std::vector<std::uint32_t>& features) {
    const std::uint32_t number = number_of_key(line, t, match);
    if (number != Vocabulary::unknown) features.push_back(number);
  }

  std::uint32_t number_of_key(std::size_t line, std::size_t t, std::string_view match) {
    key_ = std::to_string(line);
    key_ += ':';
    bool first = true;
    for (const Atom& atom : extractor_.templates_[line].atoms) {
      if (!first) key_ += separator;
      first = false;
      if (!append_value(atom, t, match)) return Vocabulary::unknown;
    }
    return numbering_(key_);
  }

  // Appends the atom's value to the key; false if it has none.
  bool append_value(const Atom& atom, std::size_t t, std::string_view match) {
    if (atom.kind == Atom::Kind::bias) return true;
    if (atom.kind == Atom::Kind::gazetteer) {
      key_ += match;
      return true;
    }
    const auto place = static_cast<std::ptrdiff_t>(t) + atom.offset;
    if (is_inside(place)) return reader_.append_value(atom, static_cast<std::size_t>(place), key_);
    key_ += place < 0 ? before_start : after_end;
    return true;
  }

  const Extractor& extractor_;
  AtomReader reader_;
  Numbering numbering_;
  std::vector<std::vector<std::uint32_t>> cached_;  // per template that reads one cell, by the cell's number
  std::string key_;
};

Extractor::Extractor(std::vector<Template> templates, AtomColumns columns, Resources resources)
    : templates_(std::move(templates)), columns_(std::move(columns)), resources_(std::move(resources)) {
  columns_.settle(templates_);
}

auto Extractor::workspaces(const TokenColumns& table) const {
  if (table.sentences().back() > 0 && table.columns() < columns_needed()) {
    throw std::invalid_argument("found " + std::to_string(table.columns()) + " columns, and the features read column " +
                                std::to_string(columns_needed()));
  }
  return [this, &table](Numbering numbering) { return Workspace(*this, table, std::move(numbering)); };
}

SparseRows Extractor::encode(const TokenColumns& table, const Vocabulary& vocabulary, int threads,
                             StopRequest stop) const {
  return encoded_rows(sentences_of(table), workspaces(table), vocabulary, threads, stop);
}

SparseRows Extractor::learn(const TokenColumns& table, Vocabulary& vocabulary, int threads, StopRequest stop) const {
  return learnt_rows(sentences_of(table), workspaces(table), vocabulary, threads, stop);
}

SparseRows Extractor::hash(const TokenColumns& table, int bits, int threads, StopRequest stop) const {
  return hashed_rows(sentences_of(table), workspaces(table), bits, threads, stop);
}

}  // namespace marginloom
