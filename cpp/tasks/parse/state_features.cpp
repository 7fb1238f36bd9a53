#include "tasks/parse/state_features.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include "tasks/parse/derivation.hpp"
#include "tasks/parse/feature_counts.hpp"

namespace marginloom {

StateExtractor::StateExtractor(std::vector<Template> templates, const AtomColumns& columns, Resources resources)
    : templates_([&] {
        columns.settle(templates);
        return std::move(templates);
      }()),
      columns_(columns),
      resources_(std::move(resources)),
      states_(templates_, views_),
      labels_(templates_, ArcTemplates::Kind::label, views_) {}

std::vector<std::uint64_t> StateExtractor::values(const TokenColumns& table, int threads, StopRequest stop) const {
  return word_values(table, columns_, resources_, templates_, views_, threads, stop);
}

class StateExtractor::Learning {
 public:
  explicit Learning(const StateExtractor& extractor) : extractor_(extractor) {}

  // Counts the features of the gold derivation of a tree, whose heads are those of the sentence that the reader has.
  void count_tree(const AtomReader& reader, const WordValues& words, std::span<const std::uint16_t> heads) {
    tree_.assign(1, 0);
    tree_.insert(tree_.end(), heads.begin(), heads.end());
    if (!is_tree(tree_, true) || !is_projective(tree_)) {
      throw std::invalid_argument("a tree is not projective, or has not one root");
    }
    extractor_.states().compute_parts(words, parts_);
    extractor_.labels().compute_parts(words, label_parts_);
    derive(tree_, {}, derivation_);
    stack_.assign(1, ParserState{});
    for (const DerivationStep& step : derivation_) {
      count_state(reader, stack_.back());
      take(step.action);
    }
    for (std::size_t m = 1; m <= words.length; ++m) {
      extractor_.labels().visit_arc(label_parts_, tree_[m], m, [&](std::size_t line, FeatureKey key, std::size_t) {
        counts_[1].count(key, [&] { return extractor_.labels().feature_name(reader, line, tree_[m], m, 0); });
      });
    }
  }
  [[nodiscard]] StatesAndLabels<Vocabulary> frequent(std::size_t least) const {
    return {counts_[0].frequent(least), counts_[1].frequent(least)};
  }

 private:
  void count_state(const AtomReader& reader, const ParserState& state) {
    const StateTemplates& templates = extractor_.states();
    const StatePlaces places = places_of(state, tree_.size() - 1);
    for (std::size_t group = 0; group < templates.groups().size(); ++group) {
      templates.visit(parts_, group, places, [&](std::size_t line, FeatureKey key) {
        counts_[0].count(key, [&] { return templates.feature_name(reader, line, places); });
      });
    }
  }
  void take(Action action) {
    if (action == Action::shift) {
      stack_.push_back(stack_.back().shifted());
      return;
    }
    const ParserState top = stack_.back();
    stack_.pop_back();
    stack_.back() = top.reduced(action, stack_.back());
  }

  const StateExtractor& extractor_;
  StatesAndLabels<FeatureCounts> counts_;
  StateParts parts_;
  KeyParts label_parts_;
  Heads tree_;
  Derivation derivation_;
  std::vector<ParserState> stack_;
};

StatesAndLabels<Vocabulary> StateExtractor::learn(std::span<const TokenColumns* const> tables,
                                                  std::span<const std::uint16_t> heads,
                                                  std::span<const std::uint8_t> left_out, std::size_t min_count,
                                                  StopRequest stop) const {
  Learning learning(*this);
  std::size_t sentence = 0;
  for (const TokenColumns* const table : tables) {
    const std::vector<std::uint64_t> all = values(*table, 1, stop);
    const auto& offsets = table->sentences();
    if (heads.size() < offsets.back()) throw std::invalid_argument("there must be one head per word");
    AtomReader reader(*table, columns_, resources_, templates_);
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i, ++sentence) {
      stop.check();
      const std::size_t length = offsets[i + 1] - offsets[i];
      if (length == 0 || (sentence < left_out.size() && left_out[sentence])) continue;
      reader.load(i);
      const auto own = std::span(all).subspan(offsets[i] * views(), length * views());
      learning.count_tree(reader, {own, views(), length}, heads.subspan(offsets[i], length));
    }
    heads = heads.subspan(offsets.back());
  }
  if (!heads.empty()) throw std::invalid_argument("there must be one head per word");
  return learning.frequent(min_count);
}

StateFeatures::StateFeatures(const StateExtractor& extractor, const StatesAndLabels<Vocabulary>& vocabularies)
    : states_(extractor.states()), labels_(extractor.labels()), views_(extractor.views()) {
  for (std::size_t kind = 0; kind < 2; ++kind) {
    std::vector<FeatureKey> keys;
    for (std::size_t id = 0; id < vocabularies[kind].size(); ++id) {
      const auto name = vocabularies[kind].name(id);
      keys.push_back(kind == 0 ? states_.key_of(name) : labels_.key_of(name));
    }
    for (const FeatureKey key : keys) identity_ = ((identity_ << 7 | identity_ >> 57) ^ key) * 0x9E3779B97F4A7C15ULL;
    numbers_[kind] = FeatureNumbers(keys);
  }
  for (const Template& line : extractor.templates()) identify(line.name);
}

StateFeatures::StateFeatures(const StateExtractor& extractor, int hash_bits, std::size_t label_stride)
    : states_(extractor.states()), labels_(extractor.labels()), views_(extractor.views()) {
  const auto rows_of = [&](std::size_t stride) {
    return FeatureNumbers(std::max(hash_bits - static_cast<int>(std::bit_width(stride)) + 1, 1));
  };
  if (states_.size() > 0) numbers_[0] = rows_of(action_stride);
  if (labels_.size() > 0) numbers_[1] = rows_of(label_stride);
  for (const Template& line : extractor.templates()) identify(line.name);
}

void StateFeatures::identify(std::string_view name) {
  identity_ = (identity_ ^ text_hash(name)) * 0x9E3779B97F4A7C15ULL;
}

}  // namespace marginloom
