#include "tasks/parse/tree_labels.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <utility>

#include "core/common.hpp"
#include "core/interruption.hpp"

namespace marginloom {
namespace {

constexpr std::uint64_t kind = 4;  // after those of arcs and states
constexpr std::size_t no_place = ~std::size_t{0};

std::size_t place_in_family(const Atom& atom) {
  switch (atom.place) {
    case Atom::Place::head:
      return static_cast<std::size_t>(TreePlace::head);
    case Atom::Place::modifier:
      return static_cast<std::size_t>(TreePlace::modifier);
    default:
      return static_cast<std::size_t>(atom.place) - static_cast<std::size_t>(Atom::Place::grandparent) +
             static_cast<std::size_t>(TreePlace::grandparent);
  }
}

// The dependents of every position of a sentence, in the order of the text.
class Dependents {
 public:
  explicit Dependents(std::span<const Head> heads) : first_(heads.size() + 2), all_(heads.size()) {
    for (const Head head : heads) ++first_[head + 1];
    for (std::size_t h = 1; h < first_.size(); ++h) first_[h] += first_[h - 1];
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    for (std::size_t m = 1; m <= heads.size(); ++m) all_[next[heads[m - 1]]++] = m;
  }
  [[nodiscard]] std::span<const std::size_t> of(std::size_t head) const {
    return std::span(all_).subspan(first_[head], first_[head + 1] - first_[head]);
  }

 private:
  std::vector<std::size_t> first_;
  std::vector<std::size_t> all_;
};

}  // namespace

TreeLabelExtractor::TreeLabelExtractor(std::vector<Template> templates, const AtomColumns& columns, Resources resources)
    : templates_(std::move(templates)), columns_(columns), resources_(std::move(resources)) {
  columns_.settle(templates_);
  for (const Template& written : templates_) {
    if (!written.has(Atom::Kind::label)) continue;
    Line line;
    const std::uint64_t number = lines_.size() + 1;
    line.constant = mixed(number * 1000 + kind) | 1;
    for (std::size_t a = 0; a < written.atoms.size(); ++a) {
      const Atom& atom = written.atoms[a];
      const std::uint64_t factor = mixed((number << 32) + (kind << 16) + a + 1) | 1;
      if (atom.kind == Atom::Kind::direction) line.direction = factor;
      if (atom.kind == Atom::Kind::distance) line.distance = factor;
      if (!atom.has_place()) continue;
      const Atom view{atom.kind, Atom::Place::token, 0, atom.argument, atom.column};
      auto found = std::ranges::find(views_, view);
      if (found == views_.end()) found = views_.insert(found, view);
      line.terms.push_back(
          {factor, place_in_family(atom), static_cast<std::size_t>(found - views_.begin()), atom.offset});
    }
    lines_.push_back(std::move(line));
  }
}

std::vector<std::uint64_t> TreeLabelExtractor::values(const TokenColumns& table, int threads, StopRequest stop) const {
  return word_values(table, columns_, resources_, templates_, views_, threads, stop);
}

void TreeLabelExtractor::add_features(const WordValues& words, const std::array<std::size_t, tree_places>& places,
                                      int bits, std::vector<std::uint32_t>& features) const {
  const std::size_t head = places[static_cast<std::size_t>(TreePlace::head)];
  const std::size_t modifier = places[static_cast<std::size_t>(TreePlace::modifier)];
  for (const Line& line : lines_) {
    FeatureKey key =
        line.constant + line.direction * direction_hash(head, modifier) + line.distance * distance_hash(head, modifier);
    bool exists = true;
    for (const Term& term : line.terms) {
      const std::size_t place = places[term.place];
      const std::uint64_t seen = place == no_place
                                     ? absent_value()
                                     : value_at(words, term.view, static_cast<std::ptrdiff_t>(place) + term.offset);
      exists &= seen != 0;
      key += term.factor * seen;
    }
    if (exists) features.push_back(static_cast<std::uint32_t>(mixed(key) >> (64 - bits)));
  }
}

void TreeLabelExtractor::add_sentence(std::span<const std::uint64_t> values, std::span<const Head> heads,
                                      std::size_t first, int bits, ArcChains& found) const {
  const WordValues words{values, views(), heads.size()};
  const Dependents dependents(heads);
  count_steps(8 * lines_.size() * heads.size());
  for (std::size_t h = 0; h <= heads.size(); ++h) {
    const auto own = dependents.of(h);
    for (std::size_t k = 0; k < own.size(); ++k) {
      const auto below = dependents.of(own[k]);
      const std::array<std::size_t, tree_places> places{h,
                                                        own[k],
                                                        h == 0 ? no_place : heads[h - 1],
                                                        k == 0 ? no_place : own[k - 1],
                                                        k + 1 == own.size() ? no_place : own[k + 1],
                                                        below.empty() ? no_place : below.front(),
                                                        below.empty() ? no_place : below.back()};
      add_features(words, places, bits, found.features);
      found.words.push_back(first + own[k] - 1);
      found.kinds.push_back(h == 0 ? 1 : 0);
      found.offsets.push_back(found.features.size());
    }
    if (!own.empty()) found.chains.push_back(found.words.size());
  }
}

ArcChains TreeLabelExtractor::encode(std::span<const std::uint64_t> values, std::span<const std::uint64_t> sentences,
                                     std::span<const Head> heads, int bits, int threads, StopRequest stop) const {
  require(bits >= 1 && bits <= 31, "hashing takes 1 to 31 bits");
  require(!sentences.empty() && sentences.front() == 0 && std::ranges::is_sorted(sentences) &&
              sentences.back() == heads.size() && values.size() == heads.size() * views(),
          "sentences, values and heads differ in length");
  for (std::size_t i = 0; i + 1 < sentences.size(); ++i) {
    const std::size_t length = sentences[i + 1] - sentences[i];
    require(std::ranges::all_of(heads.subspan(sentences[i], length), [&](Head head) { return head <= length; }),
            "a head is beyond its sentence");
  }
  const std::size_t count = sentences.size() - 1;
  const std::size_t parts = std::clamp<std::size_t>(count / 64, 1, static_cast<std::size_t>(std::max(threads, 1)));
  std::vector<ArcChains> found(parts);
  const auto fill = [&](int, std::size_t part, std::size_t) {
    for (std::size_t i = count * part / parts; i < count * (part + 1) / parts; ++i) {
      const std::size_t first = sentences[i];
      const std::size_t length = sentences[i + 1] - first;
      add_sentence(values.subspan(first * views(), length * views()), heads.subspan(first, length), first, bits,
                   found[part]);
    }
  };
  if (!parallel_for(parts, 1, threads, stop, fill)) throw Interrupted();
  ArcChains all{{0}, {}, {}, {0}, {}};
  for (const ArcChains& part : found) {
    const std::size_t arcs = all.words.size();
    const std::size_t features = all.features.size();
    for (const std::uint64_t end : part.chains) all.chains.push_back(arcs + end);
    for (const std::uint64_t end : part.offsets) all.offsets.push_back(features + end);
    all.words.insert(all.words.end(), part.words.begin(), part.words.end());
    all.kinds.insert(all.kinds.end(), part.kinds.begin(), part.kinds.end());
    all.features.insert(all.features.end(), part.features.begin(), part.features.end());
  }
  return all;
}

}  // namespace marginloom
