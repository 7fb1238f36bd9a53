#include "tasks/parse/arc_features.hpp"

#include <bit>
#include <stdexcept>
#include <utility>

#include "tasks/parse/feature_counts.hpp"

namespace marginloom {
namespace {

using Kind = ArcTemplates::Kind;

constexpr std::array all_kinds{Kind::arc, Kind::sibling, Kind::label};

}  // namespace

std::size_t nearest_sibling(std::span<const std::uint16_t> heads, std::size_t modifier) {
  const std::size_t head = heads[modifier];
  for (std::size_t s = modifier; s != head;) {
    s = head < modifier ? s - 1 : s + 1;
    if (s != head && heads[s] == head) return s;
  }
  return 0;
}

ArcExtractor::ArcExtractor(std::vector<Template> templates, const AtomColumns& columns, Resources resources)
    : templates_(std::move(templates)), columns_(columns), resources_(std::move(resources)) {
  columns_.settle(templates_);
  for (const Kind kind : all_kinds) kinds_.emplace_back(templates_, kind, views_);
}

std::vector<std::uint64_t> ArcExtractor::values(const TokenColumns& table, int threads, StopRequest stop) const {
  return word_values(table, columns_, resources_, templates_, views_, threads, stop);
}

class ArcExtractor::Learning {
 public:
  explicit Learning(const ArcExtractor& extractor) : extractor_(extractor) {}

  // Counts the features of a tree, whose heads are those of the sentence that the reader has.
  void count_tree(const AtomReader& reader, const WordValues& words, std::span<const std::uint16_t> heads) {
    const std::size_t length = reader.length();
    tree_.assign(1, 0);
    tree_.insert(tree_.end(), heads.begin(), heads.end());
    for (const std::uint16_t head : tree_) {
      if (head > length) throw std::invalid_argument("a head is beyond its sentence");
    }
    for (const Kind kind : all_kinds) {
      extractor_.of(kind).compute_parts(words, parts_[static_cast<std::size_t>(kind)]);
    }
    for (std::size_t m = 1; m <= length; ++m) count_word(reader, m);
  }
  [[nodiscard]] ByKind<Vocabulary> frequent(std::size_t least) const {
    return {counts_[0].frequent(least), counts_[1].frequent(least), counts_[2].frequent(least)};
  }

 private:
  void count_word(const AtomReader& reader, std::size_t m) {
    const std::size_t h = tree_[m];
    const auto note = [&](Kind kind) {
      return [&, kind](std::size_t line, FeatureKey key, std::size_t other) {
        counts_[static_cast<std::size_t>(kind)].count(
            key, [&] { return extractor_.of(kind).feature_name(reader, line, h, m, other); });
      };
    };
    extractor_.of(Kind::arc).visit_arc(parts_[0], h, m, note(Kind::arc));
    extractor_.of(Kind::sibling).visit_sibling(parts_[1], h, nearest_sibling(tree_, m), m, note(Kind::sibling));
    extractor_.of(Kind::label).visit_arc(parts_[2], h, m, note(Kind::label));
  }

  const ArcExtractor& extractor_;
  ByKind<FeatureCounts> counts_;
  ByKind<KeyParts> parts_;
  std::vector<std::uint16_t> tree_;
};

ByKind<Vocabulary> ArcExtractor::learn(std::span<const TokenColumns* const> tables,
                                       std::span<const std::uint16_t> heads, std::span<const std::uint8_t> left_out,
                                       std::size_t min_count, StopRequest stop) const {
  Learning learning(*this);
  std::size_t sentence = 0;
  for (const TokenColumns* const table : tables) {
    const std::vector<std::uint64_t> all = values(*table, 1, stop);
    const auto& offsets = table->sentences();
    if (heads.size() < offsets.back()) throw std::invalid_argument("there must be one head per word");
    AtomReader reader(*table, columns_, resources_, templates_);
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i, ++sentence) {
      stop.check();
      if (sentence < left_out.size() && left_out[sentence]) continue;
      reader.load(i);
      const auto own = std::span(all).subspan(offsets[i] * views(), reader.length() * views());
      const WordValues words{own, views(), reader.length()};
      learning.count_tree(reader, words, heads.subspan(offsets[i], reader.length()));
    }
    heads = heads.subspan(offsets.back());
  }
  if (!heads.empty()) throw std::invalid_argument("there must be one head per word");
  return learning.frequent(min_count);
}

ArcFeatures::ArcFeatures(const ArcExtractor& extractor, const ByKind<Vocabulary>& vocabularies)
    : views_(extractor.views()) {
  for (const Kind kind : all_kinds) {
    const Vocabulary& names = vocabularies[static_cast<std::size_t>(kind)];
    std::vector<FeatureKey> keys;
    keys.reserve(names.size());
    for (std::size_t id = 0; id < names.size(); ++id) keys.push_back(extractor.of(kind).key_of(names.name(id)));
    take(extractor.of(kind), keys);
    numbers_[static_cast<std::size_t>(kind)] = FeatureNumbers(keys);
  }
}

void ArcFeatures::take(const ArcTemplates& templates, std::span<const FeatureKey> keys) {
  constexpr std::uint64_t factor = 0x9E3779B97F4A7C15ULL;
  for (std::size_t line = 0; line < templates.size(); ++line) {
    identity_ = (identity_ ^ text_hash(templates.name(line))) * factor;
  }
  for (const FeatureKey key : keys) identity_ = ((identity_ << 7 | identity_ >> 57) ^ key) * factor;
  identity_ = (identity_ ^ keys.size()) * factor;
  kinds_.push_back(templates);
}

ArcFeatures::ArcFeatures(const ArcExtractor& extractor, int hash_bits, std::size_t label_stride)
    : views_(extractor.views()) {
  const int row_bits = std::max(hash_bits - static_cast<int>(std::bit_width(label_stride)) + 1, 1);
  for (const Kind kind : all_kinds) {
    take(extractor.of(kind), {});
    if (kinds_.back().size() == 0) continue;
    numbers_[static_cast<std::size_t>(kind)] = FeatureNumbers(kind == Kind::label ? row_bits : hash_bits);
  }
}

}  // namespace marginloom
