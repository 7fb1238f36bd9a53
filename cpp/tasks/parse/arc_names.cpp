// The features of single arcs by name, also where they are hashed: for explanations.
#include <stdexcept>

#include "tasks/parse/arc_features.hpp"

namespace marginloom {

std::vector<NamedFeature> named_features(const ArcExtractor& extractor, const ArcFeatures& features,
                                         const TokenColumns& table, std::size_t sentence, const NamedArc& arc) {
  using Kind = ArcTemplates::Kind;
  const auto& offsets = table.sentences();
  if (sentence + 1 >= offsets.size()) throw std::invalid_argument("there is no such sentence");
  const std::size_t length = offsets[sentence + 1] - offsets[sentence];
  const bool inside = arc.head <= length && arc.modifier >= 1 && arc.modifier <= length && arc.sibling <= length;
  if (!inside || arc.head == arc.modifier) throw std::invalid_argument("there is no such arc");
  const std::vector<std::uint64_t> all = extractor.values(table, 1);
  const std::size_t views = extractor.views();
  const WordValues words{std::span(all).subspan(offsets[sentence] * views, length * views), views, length};
  AtomReader reader = extractor.reader(table);
  reader.load(sentence);
  std::vector<NamedFeature> result;
  for (const Kind kind : {Kind::arc, Kind::sibling, Kind::label}) {
    const ArcTemplates& templates = extractor.of(kind);
    if (templates.size() == 0) continue;
    KeyParts parts;
    templates.compute_parts(words, parts);
    const auto note = [&](std::size_t line, FeatureKey key, std::size_t other) {
      const std::uint32_t number = features.numbers(kind).find(key);
      if (number == KeyTable::unknown && !features.numbers(kind).hashes()) return;
      const std::string name = templates.feature_name(reader, line, arc.head, arc.modifier, other);
      result.push_back({static_cast<std::size_t>(kind), number, templates.described(name)});
    };
    if (kind == Kind::sibling) {
      templates.visit_sibling(parts, arc.head, arc.sibling, arc.modifier, note);
    } else {
      templates.visit_arc(parts, arc.head, arc.modifier, note);
    }
  }
  return result;
}

}  // namespace marginloom
