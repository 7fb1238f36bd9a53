#include "features/arc_features.hpp"

#include <bit>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace marginloom {
namespace {

using Kind = ArcTemplates::Kind;

constexpr std::array all_kinds{Kind::arc, Kind::sibling, Kind::label};

// Features of one kind while they are counted.
class FeatureCounts {
 public:
  // Calls name() for a key that was not there before.
  template <class Name>
  void count(FeatureKey key, Name name) {
    const auto [place, is_new] = numbers_.try_emplace(key, static_cast<std::uint32_t>(counts_.size()));
    if (is_new) {
      counts_.push_back(0);
      names_.intern(name());
    }
    ++counts_[place->second];
  }

  [[nodiscard]] Vocabulary frequent(std::size_t least) const {
    std::vector<std::uint32_t> kept;
    for (std::uint32_t id = 0; id < counts_.size(); ++id) {
      if (counts_[id] >= least) kept.push_back(id);
    }
    return kept.size() == counts_.size() ? names_ : names_.selected(kept);
  }

 private:
  std::unordered_map<FeatureKey, std::uint32_t> numbers_;
  std::vector<std::size_t> counts_;
  Vocabulary names_;
};

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
  columns_.check(templates_);
  for (const Kind kind : all_kinds) kinds_.emplace_back(templates_, kind, views_);
}

std::vector<std::uint64_t> ArcExtractor::values(const TokenColumns& table, int threads, StopRequest stop) const {
  return word_values(table, columns_, resources_, templates_, views_, threads, stop);
}

ByKind<Vocabulary> ArcExtractor::learn(const TokenColumns& table, std::span<const std::uint16_t> heads,
                                       std::size_t min_count, StopRequest stop) const {
  const std::vector<std::uint64_t> all = values(table, 1, stop);
  const auto& offsets = table.sentences();
  if (heads.size() != offsets.back()) throw std::invalid_argument("there must be one head per word");
  AtomReader reader(table, columns_, resources_, templates_);
  ByKind<FeatureCounts> counts;
  ByKind<KeyParts> parts;
  std::vector<std::uint16_t> tree;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    stop.check();
    reader.load(i);
    const std::size_t length = reader.length();
    tree.assign(1, 0);
    tree.insert(tree.end(), heads.begin() + static_cast<std::ptrdiff_t>(offsets[i]),
                heads.begin() + static_cast<std::ptrdiff_t>(offsets[i + 1]));
    for (const std::uint16_t head : tree) {
      if (head > length) throw std::invalid_argument("a head is beyond its sentence");
    }
    const WordValues words{std::span(all).subspan(offsets[i] * views(), length * views()), views()};
    for (const Kind kind : all_kinds) of(kind).compute_parts(words, parts[static_cast<std::size_t>(kind)]);
    for (std::size_t m = 1; m <= length; ++m) {
      const std::size_t h = tree[m];
      const auto note = [&](Kind kind) {
        return [&, kind](std::size_t line, FeatureKey key, std::size_t other) {
          counts[static_cast<std::size_t>(kind)].count(
              key, [&] { return of(kind).feature_name(reader, line, h, m, other); });
        };
      };
      of(Kind::arc).visit_arc(parts[0], h, m, note(Kind::arc));
      of(Kind::sibling).visit_sibling(parts[1], h, nearest_sibling(tree, m), m, note(Kind::sibling));
      of(Kind::label).visit_arc(parts[2], h, m, note(Kind::label));
    }
  }
  return {counts[0].frequent(min_count), counts[1].frequent(min_count), counts[2].frequent(min_count)};
}

ArcFeatures::ArcFeatures(const ArcExtractor& extractor, const ByKind<Vocabulary>& vocabularies)
    : views_(extractor.views()) {
  for (const Kind kind : all_kinds) {
    const Vocabulary& names = vocabularies[static_cast<std::size_t>(kind)];
    std::vector<FeatureKey> keys;
    keys.reserve(names.size());
    for (std::size_t id = 0; id < names.size(); ++id) keys.push_back(extractor.of(kind).key_of(names.name(id)));
    kinds_.push_back(extractor.of(kind));
    numbers_[static_cast<std::size_t>(kind)] = FeatureNumbers(keys);
  }
}

ArcFeatures::ArcFeatures(const ArcExtractor& extractor, int hash_bits, std::size_t label_stride)
    : views_(extractor.views()) {
  const int row_bits = std::max(hash_bits - static_cast<int>(std::bit_width(label_stride)) + 1, 1);
  for (const Kind kind : all_kinds) {
    kinds_.push_back(extractor.of(kind));
    if (kinds_.back().size() == 0) continue;
    numbers_[static_cast<std::size_t>(kind)] = FeatureNumbers(kind == Kind::label ? row_bits : hash_bits);
  }
}

}  // namespace marginloom
