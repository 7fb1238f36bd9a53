#include "features/extractor.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <stdexcept>
#include <utility>

#include "core/parallel.hpp"

namespace marginloom {
namespace {

constexpr char separator = '\x1F';
constexpr std::uint32_t not_computed = Vocabulary::unknown - 1;

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
      if (told_to_stop() || (thread == 0 && stop.stopped())) ended = true;
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
