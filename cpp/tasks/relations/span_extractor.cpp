#include "tasks/relations/span_extractor.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/common.hpp"
#include "features/numbered_rows.hpp"

namespace marginloom {
namespace {

constexpr char separator = '\x1F';
constexpr std::size_t longest_text = 6;  // tokens between two spans that are taken as a whole
constexpr std::size_t window = 3;        // tokens on either side of a span that are around it

struct Class {
  std::size_t last;
  std::string_view name;
};

constexpr std::array distances{Class{0, "0"},      Class{1, "1"},     Class{2, "2"},   Class{3, "3"},
                               Class{4, "4"},      Class{5, "5"},     Class{7, "6-7"}, Class{10, "8-10"},
                               Class{15, "11-15"}, Class{25, "16-25"}};
constexpr std::array lengths{Class{1, "1"}, Class{2, "2"}, Class{3, "3"}, Class{4, "4"}};
constexpr std::array others{Class{0, "0"}, Class{1, "1"}, Class{2, "2"}};

template <class Classes>
std::string_view class_of(std::size_t number, const Classes& classes, std::string_view beyond) {
  const auto* found = std::ranges::find_if(classes, [&](const Class& known) { return number <= known.last; });
  return found == classes.end() ? beyond : found->name;
}

struct Range {
  std::size_t first = 0;
  std::size_t end = 0;
};

}  // namespace

void SpanTable::check(const TokenColumns& table) const {
  const auto& sentences = table.sentences();
  require(offsets.size() == sentences.size() && offsets.front() == 0 && std::ranges::is_sorted(offsets),
          "every sentence needs its spans");
  require(starts.size() == offsets.back() && ends.size() == offsets.back(), "a span has a start and an end");
  for (std::size_t i = 0; i + 1 < sentences.size(); ++i) {
    std::size_t before = 0;
    for (std::size_t s = offsets[i]; s < offsets[i + 1]; ++s) {
      require(before <= starts[s] && starts[s] < ends[s] && ends[s] <= sentences[i + 1] - sentences[i],
              "spans must have tokens of their sentence, be apart and in order");
      before = ends[s];
    }
  }
}

// One thread's memory.
class SpanExtractor::Workspace {
 public:
  Workspace(const SpanExtractor& extractor, Kind kind, const TokenColumns& table, const SpanTable& spans,
            Numbering numbering)
      : extractor_(extractor),
        kind_(kind),
        spans_(spans),
        reader_(table, extractor.columns_, extractor.resources_, extractor.templates_),
        numbering_(std::move(numbering)) {
    for (std::size_t line = 0; line < extractor.templates_.size(); ++line) {
      if (is_about_pairs(extractor.templates_[line]) == (kind == Kind::pair)) lines_.push_back(line);
    }
  }

  void extract(std::size_t sentence, SparseRows& rows) {
    first_ = spans_.offsets[sentence];
    const std::size_t count = spans_.offsets[sentence + 1] - first_;
    if (count == 0) return;
    reader_.load(sentence);
    for (head_ = 0; head_ < count; ++head_) {
      if (kind_ == Kind::span) {
        extract_row(rows);
        continue;
      }
      for (tail_ = 0; tail_ < count; ++tail_) {
        if (tail_ != head_) extract_row(rows);
      }
    }
  }

 private:
  void extract_row(SparseRows& rows) {
    count_steps(64 * lines_.size());
    for (const std::size_t line : lines_) add_features(line, rows.features);
    rows.tokens.push_back(rows.features.size());
  }

  [[nodiscard]] Range span(std::size_t number) const {
    return {spans_.starts[first_ + number], spans_.ends[first_ + number]};
  }
  // The spans of the pair in the order of the text.
  [[nodiscard]] std::size_t left() const { return std::min(head_, tail_); }
  [[nodiscard]] std::size_t right() const { return std::max(head_, tail_); }
  [[nodiscard]] Range between() const { return {span(left()).end, span(right()).first}; }

  [[nodiscard]] Range range_of(const Atom& atom) const {
    switch (atom.place) {
      case Atom::Place::tail:
        return span(tail_);
      case Atom::Place::left:
        return span(left());
      case Atom::Place::right:
        return span(right());
      case Atom::Place::between:
        return between();
      case Atom::Place::sentence:
        return {0, reader_.length()};
      default:
        return span(head_);
    }
  }

  void add_features(std::size_t line, std::vector<std::uint32_t>& features) {
    const Template& what = extractor_.templates_[line];
    const auto listing = std::ranges::find_if(what.atoms, &Atom::lists);
    values_.clear();
    if (listing == what.atoms.end()) {
      add_key(line, {}, features);
      return;
    }
    list_values(*listing);
    for (std::size_t k = 0; k < values_.size(); ++k) {
      const auto before = values_.begin() + static_cast<std::ptrdiff_t>(k);
      if (std::find(values_.begin(), before, values_[k]) == before) add_key(line, values_[k], features);
    }
  }

  // The values of an atom that may have several, with repetitions.
  void list_values(const Atom& atom) {
    const Range range = range_of(atom);
    const bool one = atom.part == Atom::Part::first || atom.part == Atom::Part::last;
    if (one) {
      const std::ptrdiff_t place = place_in(range, atom);
      if (is_inside(place)) list_value(atom, static_cast<std::size_t>(place));
      return;
    }
    if (atom.place == Atom::Place::around) {
      for (std::size_t t = range.first - std::min(range.first, window); t < range.first; ++t) list_value(atom, t);
      for (std::size_t t = range.end; t < std::min(range.end + window, reader_.length()); ++t) list_value(atom, t);
      return;
    }
    const std::size_t width = atom.part == Atom::Part::pairs ? 2 : 1;
    for (std::size_t t = range.first; t + width <= range.end; ++t) list_value(atom, t);
  }

  void list_value(const Atom& atom, std::size_t token) {
    if (atom.kind == Atom::Kind::gazetteer) {
      const auto& matches = reader_.gazetteer_matches(token);
      values_.insert(values_.end(), matches.begin(), matches.end());
      return;
    }
    std::string value;
    bool there = reader_.append_value(atom, token, value);
    if (there && atom.part == Atom::Part::pairs) {
      value += ' ';
      there = reader_.append_value(atom, token + 1, value);
    }
    if (there) values_.push_back(std::move(value));
  }

  void add_key(std::size_t line, std::string_view listed, std::vector<std::uint32_t>& features) {
    key_ = std::to_string(line);
    key_ += ':';
    bool first = true;
    for (const Atom& atom : extractor_.templates_[line].atoms) {
      if (!first) key_ += separator;
      first = false;
      if (atom.lists()) {
        key_ += listed;
      } else if (!append_value(atom)) {
        return;
      }
    }
    const std::uint32_t number = numbering_(key_);
    if (number != Vocabulary::unknown) features.push_back(number);
  }

  [[nodiscard]] bool is_inside(std::ptrdiff_t place) const {
    return place >= 0 && place < static_cast<std::ptrdiff_t>(reader_.length());
  }

  [[nodiscard]] static std::ptrdiff_t place_in(const Range& range, const Atom& atom) {
    return static_cast<std::ptrdiff_t>(atom.part == Atom::Part::first ? range.first : range.end - 1) + atom.offset;
  }

  // Appends the value of an atom that has one at most; false if it has none.
  bool append_value(const Atom& atom) {
    switch (atom.kind) {
      case Atom::Kind::bias:
      case Atom::Kind::pair:
        return true;
      case Atom::Kind::order:
        key_ += head_ < tail_ ? "head first" : "tail first";
        return true;
      case Atom::Kind::distance:
        key_ += class_of(between().end - between().first, distances, "26+");
        return true;
      case Atom::Kind::entities:
        key_ += class_of(right() - left() - 1, others, "3+");
        return true;
      case Atom::Kind::length:
        key_ += class_of(span(head_).end - span(head_).first, lengths, "5+");
        return true;
      default:
        return append_text(atom);
    }
  }

  bool append_text(const Atom& atom) {
    const Range range = range_of(atom);
    const bool nothing = atom.place == Atom::Place::between && range.first == range.end;
    if (atom.part != Atom::Part::all) {
      if (nothing) return false;
      const std::ptrdiff_t place = place_in(range, atom);
      if (is_inside(place)) return reader_.append_value(atom, static_cast<std::size_t>(place), key_);
      key_ += place < 0 ? before_start : after_end;
      return true;
    }
    if (nothing) key_ += "<none>";
    if (atom.place == Atom::Place::between && range.end - range.first > longest_text) return false;
    for (std::size_t t = range.first; t < range.end; ++t) {
      if (t > range.first) key_ += ' ';
      if (!reader_.append_value(atom, t, key_)) return false;
    }
    return true;
  }

  const SpanExtractor& extractor_;
  Kind kind_;
  const SpanTable& spans_;
  AtomReader reader_;
  Numbering numbering_;
  std::vector<std::size_t> lines_;  // templates of the kind
  std::size_t first_ = 0;           // the sentence's spans among all
  std::size_t head_ = 0;            // the span that a row is of
  std::size_t tail_ = 0;
  std::vector<std::string> values_;
  std::string key_;
};

SpanExtractor::SpanExtractor(std::vector<Template> templates, AtomColumns columns, Resources resources)
    : templates_(std::move(templates)), columns_(std::move(columns)), resources_(std::move(resources)) {
  columns_.settle(templates_);
}

auto SpanExtractor::workspaces(Kind kind, const TokenColumns& table, const SpanTable& spans) const {
  spans.check(table);
  if (table.sentences().back() > 0 && table.columns() < columns_.needed(templates_)) {
    throw std::invalid_argument("the features read the tags of words, and there are none");
  }
  return [this, kind, &table, &spans](Numbering numbering) {
    return Workspace(*this, kind, table, spans, std::move(numbering));
  };
}

SparseRows SpanExtractor::encode(Kind kind, const TokenColumns& table, const SpanTable& spans,
                                 const Vocabulary& vocabulary, int threads, StopRequest stop) const {
  return encoded_rows(sentences_of(table), workspaces(kind, table, spans), vocabulary, threads, stop);
}

SparseRows SpanExtractor::learn(Kind kind, const TokenColumns& table, const SpanTable& spans, Vocabulary& vocabulary,
                                int threads, StopRequest stop) const {
  return learnt_rows(sentences_of(table), workspaces(kind, table, spans), vocabulary, threads, stop);
}

SparseRows SpanExtractor::hash(Kind kind, const TokenColumns& table, const SpanTable& spans, int bits, int threads,
                               StopRequest stop) const {
  return hashed_rows(sentences_of(table), workspaces(kind, table, spans), bits, threads, stop);
}

}  // namespace marginloom
