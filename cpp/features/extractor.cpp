#include "features/extractor.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <stdexcept>
#include <utility>

#include "core/parallel.hpp"
#include "features/letters.hpp"

namespace marginloom {
namespace {

constexpr char separator = '\x1F';
constexpr std::uint32_t not_computed = Vocabulary::unknown - 1;
constexpr std::string_view before_start = "<s>";
constexpr std::string_view after_end = "</s>";

// Numbers a key, or answers Vocabulary::unknown.
using Numbering = std::function<std::uint32_t(std::string_view)>;

bool reads_one_cell(const Template& line) {
  return line.atoms.size() == 1 && line.atoms[0].kind != Atom::Kind::bias &&
         line.atoms[0].kind != Atom::Kind::gazetteer;
}

}  // namespace

// One thread's memory: what it has computed for a word once, it does not compute again.
class Extractor::Workspace {
 public:
  Workspace(const Extractor& extractor, const TokenColumns& table, Numbering numbering)
      : extractor_(extractor), table_(table), numbering_(std::move(numbering)), cached_(extractor.templates_.size()) {
    cells_.resize(table.columns());
    numbers_.resize(table.columns());
    used_.resize(table.columns());
    for (const Template& line : extractor.templates_) {
      for (const Atom& atom : line.atoms) {
        if (atom.kind != Atom::Kind::bias) used_.at(column_of(atom)) = true;
      }
    }
  }

  void extract(std::size_t sentence, SparseRows& rows) {
    first_ = table_.sentences()[sentence];
    length_ = table_.sentences()[sentence + 1] - first_;
    for (std::size_t column = 0; column < used_.size(); ++column) {
      if (!used_[column]) continue;
      numbers_[column].clear();
      for (std::size_t t = 0; t < length_; ++t) {
        numbers_[column].push_back(cells_[column].intern(table_.cell(first_ + t, column)));
      }
    }
    if (!extractor_.resources_.gazetteers.empty()) match_gazetteers();
    for (std::size_t t = 0; t < length_; ++t) {
      for (std::size_t line = 0; line < extractor_.templates_.size(); ++line) add_features(line, t, rows.features);
      rows.tokens.push_back(rows.features.size());
    }
  }

 private:
  [[nodiscard]] std::size_t column_of(const Atom& atom) const {
    if (atom.kind == Atom::Kind::column) return atom.argument;
    if (atom.kind == Atom::Kind::pos) return *extractor_.columns_.pos;
    return extractor_.columns_.word;
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
    if (place < 0 || place >= static_cast<std::ptrdiff_t>(length_) || extractor_.resources_.gazetteers.empty()) return;
    for (const std::string& match : matches_[static_cast<std::size_t>(place)]) add_key(line, t, match, features);
  }

  std::uint32_t cached_number(std::size_t line, std::size_t t) {
    const Atom& atom = extractor_.templates_[line].atoms[0];
    const auto place = static_cast<std::ptrdiff_t>(t) + atom.offset;
    const std::size_t column = column_of(atom);
    // Slots 0 and 1 are for the places beyond the two ends.
    const std::size_t slot = place < 0 ? 0
                             : place >= static_cast<std::ptrdiff_t>(length_)
                                 ? 1
                                 : 2 + numbers_[column][static_cast<std::size_t>(place)];
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
    if (place < 0 || place >= static_cast<std::ptrdiff_t>(length_)) {
      key_ += place < 0 ? before_start : after_end;
      return true;
    }
    const std::size_t column = column_of(atom);
    return append_cell_value(atom, cells_[column].name(numbers_[column][static_cast<std::size_t>(place)]));
  }

  bool append_cell_value(const Atom& atom, std::string_view cell) {
    switch (atom.kind) {
      case Atom::Kind::lower:
        append_lower(cell, key_);
        return true;
      case Atom::Kind::prefix:
      case Atom::Kind::suffix: {
        const std::string_view part =
            atom.kind == Atom::Kind::prefix ? first_letters(cell, atom.argument) : last_letters(cell, atom.argument);
        key_ += part;
        return !part.empty();
      }
      case Atom::Kind::shape:
      case Atom::Kind::shortshape:
        append_shape(cell, atom.kind == Atom::Kind::shortshape, key_);
        return true;
      case Atom::Kind::cluster: {
        const std::uint32_t number = extractor_.resources_.cluster_words.find(cell);
        if (number == Vocabulary::unknown) return false;
        key_ += std::string_view(extractor_.resources_.cluster_paths[number]).substr(0, atom.argument);
        return true;
      }
      default:
        key_ += cell;
        return true;
    }
  }

  // For every token, the lists whose longest entry from some token on covers it.
  void match_gazetteers() {
    matches_.resize(std::max(matches_.size(), length_));
    for (std::size_t t = 0; t < length_; ++t) matches_[t].clear();
    const std::size_t column = extractor_.columns_.word;
    for (const Resources::Gazetteer& gazetteer : extractor_.resources_.gazetteers) {
      for (std::size_t t = 0; t < length_;) {
        std::string phrase;
        std::size_t matched = 0;
        for (std::size_t n = 1; n <= gazetteer.longest && t + n <= length_; ++n) {
          if (n > 1) phrase += ' ';
          phrase += table_.cell(first_ + t + n - 1, column);
          if (gazetteer.phrases.find(phrase) != Vocabulary::unknown) matched = n;
        }
        for (std::size_t n = 0; n < matched; ++n) matches_[t + n].push_back(gazetteer.name + (n == 0 ? "-B" : "-I"));
        t += std::max<std::size_t>(matched, 1);
      }
    }
  }

  const Extractor& extractor_;
  const TokenColumns& table_;
  Numbering numbering_;
  std::vector<bool> used_;                           // columns
  std::vector<Vocabulary> cells_;                    // per column, the cells met so far
  std::vector<std::vector<std::uint32_t>> numbers_;  // per column, the sentence's cells
  std::vector<std::vector<std::uint32_t>> cached_;   // per template that reads one cell, by the cell's number
  std::vector<std::vector<std::string>> matches_;    // of gazetteers, per token
  std::size_t first_ = 0;
  std::size_t length_ = 0;
  std::string key_;
};

Extractor::Extractor(std::vector<Template> templates, Columns columns, Resources resources)
    : templates_(std::move(templates)), columns_(columns), resources_(std::move(resources)) {
  if (resources_.cluster_paths.size() != resources_.cluster_words.size()) {
    throw std::invalid_argument("every word with a cluster needs a path");
  }
  if (columns_.pos) return;
  for (const Template& line : templates_) {
    if (std::ranges::find(line.atoms, Atom::Kind::pos, &Atom::kind) != line.atoms.end()) {
      throw std::invalid_argument("the template '" + line.name + "' needs a column with parts of speech");
    }
  }
}

std::size_t Extractor::columns_needed() const {
  std::size_t needed = std::max(columns_.word, columns_.pos.value_or(0)) + 1;
  for (const Template& line : templates_) {
    for (const Atom& atom : line.atoms) {
      if (atom.kind == Atom::Kind::column) needed = std::max(needed, atom.argument + 1);
    }
  }
  return needed;
}

// Splits the sentences into one run per thread, so that the parts lie in order whatever the number of threads.
template <class MakeNumbering>
std::vector<SparseRows> Extractor::by_threads(const TokenColumns& table, int threads, const MakeNumbering& numbering,
                                              StopRequest& stop) const {
  if (table.sentences().back() == 0) return std::vector<SparseRows>(1);
  if (table.columns() < columns_needed()) {
    throw std::invalid_argument("found " + std::to_string(table.columns()) + " columns, and the features read column " +
                                std::to_string(columns_needed()));
  }
  const std::size_t count = table.sentences().size() - 1;
  const std::size_t parts = std::clamp<std::size_t>(count / 16, 1, static_cast<std::size_t>(std::max(threads, 1)));
  std::vector<SparseRows> rows(parts);
  std::atomic<bool> ended{false};  // the other threads ask it, and only the caller its owner
  const auto extract_part = [&](int thread, std::size_t part, std::size_t) {
    Workspace workspace(*this, table, numbering(part));
    for (std::size_t i = count * part / parts; i < count * (part + 1) / parts; ++i) {
      if (thread == 0 && stop.stopped()) ended = true;
      if (ended.load(std::memory_order_relaxed)) return;
      workspace.extract(i, rows[part]);
    }
  };
  if (!parallel_for(parts, 1, threads, stop, extract_part) || ended) throw Interrupted();
  return rows;
}

namespace {

SparseRows joined(std::vector<SparseRows> parts) {
  SparseRows all = std::move(parts.front());
  for (std::size_t part = 1; part < parts.size(); ++part) {
    const std::uint64_t before = all.features.size();
    for (std::size_t t = 1; t < parts[part].tokens.size(); ++t) all.tokens.push_back(before + parts[part].tokens[t]);
    all.features.insert(all.features.end(), parts[part].features.begin(), parts[part].features.end());
  }
  return all;
}

}  // namespace

SparseRows Extractor::encode(const TokenColumns& table, const Vocabulary& vocabulary, int threads,
                             StopRequest stop) const {
  const auto look_up = [&](std::size_t) -> Numbering {
    return [&vocabulary](std::string_view key) { return vocabulary.find(key); };
  };
  return joined(by_threads(table, threads, look_up, stop));
}

SparseRows Extractor::learn(const TokenColumns& table, Vocabulary& vocabulary, int threads, StopRequest stop) const {
  std::vector<Vocabulary> seen(static_cast<std::size_t>(std::max(threads, 1)));
  const auto collect = [&](std::size_t part) -> Numbering {
    return [&own = seen[part]](std::string_view key) { return own.intern(key); };
  };
  std::vector<SparseRows> parts = by_threads(table, threads, collect, stop);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    std::vector<std::uint32_t> numbers(seen[part].size());
    for (std::size_t id = 0; id < numbers.size(); ++id) numbers[id] = vocabulary.intern(seen[part].name(id));
    for (std::uint32_t& feature : parts[part].features) feature = numbers[feature];
  }
  return joined(std::move(parts));
}

SparseRows Extractor::hash(const TokenColumns& table, int bits, int threads, StopRequest stop) const {
  if (bits < 1 || bits > 31) throw std::invalid_argument("hashing takes 1 to 31 bits");
  const auto cut = [&](std::size_t) -> Numbering {
    return [mask = (1u << bits) - 1](std::string_view key) { return key_hash(key) & mask; };
  };
  return joined(by_threads(table, threads, cut, stop));
}

}  // namespace marginloom
