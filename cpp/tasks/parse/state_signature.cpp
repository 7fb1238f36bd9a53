#include "tasks/parse/state_signature.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace marginloom {
namespace {

constexpr std::size_t s1_place = 1, s2_place = 2, first_own = 6, first_below = 10;

void add(std::vector<std::size_t>& views, const std::vector<std::size_t>& more) {
  for (const std::size_t view : more) {
    if (std::ranges::find(views, view) == views.end()) views.push_back(view);
  }
}

}  // namespace

Signatures::Signatures(const StateFeatures& features, bool labelled) : features_(features), labelled_(labelled) {
  const StateTemplates& templates = features.states();
  reads_distance_ = templates.reads(distance_place);
  by_position_ = reads_distance_;
  for (std::size_t line = 0; line < features.labels().size() && labelled; ++line) {
    by_position_ |= features.labels().has_distance(line);
  }
  for (std::size_t place = first_own; place < word_places; ++place) {
    add(views_of_modifiers_, templates.views_at(place));
  }
  add(views_of_s2_, templates.views_at(s2_place));
  views_of_s1_ = views_of_s2_;
  add(views_of_s1_, templates.views_at(s1_place));
  views_of_s0_ = views_of_s1_;
  add(views_of_s0_, templates.views_at(0));
  add(views_of_s0_, views_of_modifiers_);
  s2_matters_ = templates.reads(s2_place);
  s1_matters_ = s2_matters_ || templates.reads(s1_place);
  // A second modifier has been the first one before, and what is read of s1 has been s0's.
  for (std::size_t side = 0; side < 2; ++side) {
    below_[side + 2] = templates.reads(first_below + side + 2);
    below_[side] = templates.reads(first_below + side);
    own_[side + 2] = below_[side + 2] || templates.reads(first_own + side + 2);
    own_[side] = own_[side + 2] || below_[side] || templates.reads(first_own + side);
    below_valency_[side] = templates.reads(first_valency + 2 + side);
    own_valency_[side] = below_valency_[side] || templates.reads(first_valency + side);
  }
}

void Signatures::load(const WordValues& words, const KeyParts* labels) {
  if (by_position_) {
    s0_.resize(words.length + 1);
    std::iota(s0_.begin(), s0_.end(), std::uint16_t{0});
  } else {
    find_classes(words, views_of_s0_, labelled_ ? labels : nullptr, s0_);
  }
  find_classes(words, views_of_s1_, nullptr, s1_);
  find_classes(words, views_of_s2_, nullptr, s2_);
  find_classes(words, views_of_modifiers_, nullptr, modifiers_);
}

// Numbers the words by their values, as they are first seen; no word has 0.
void Signatures::find_classes(const WordValues& words, const std::vector<std::size_t>& views, const KeyParts* labels,
                              Classes& classes) {
  classes.assign(words.length + 1, 0);
  hashes_.assign(words.length + 1, 0);
  slots_.assign(std::bit_ceil(2 * words.length + 2), 0);
  for (std::size_t word = 1; word <= words.length; ++word) {
    std::uint64_t hash = 0;
    const auto take = [&](std::uint64_t value) { hash = mixed(hash * 0x9E3779B97F4A7C15ULL ^ value); };
    for (const std::size_t view : views) take(words.values[(word - 1) * words.views + view]);
    for (std::size_t line = 0; labels != nullptr && line < features_.labels().size(); ++line) {
      take(labels->head(line)[word]);
      take(labels->modifier(line)[word]);
    }
    hashes_[word] = hash;
    std::size_t slot = hash & (slots_.size() - 1);
    while (slots_[slot] != 0 && hashes_[slots_[slot]] != hash) slot = (slot + 1) & (slots_.size() - 1);
    if (slots_[slot] == 0) slots_[slot] = static_cast<std::uint32_t>(word);
    classes[word] = static_cast<std::uint16_t>(slots_[slot]);
  }
}

Signature Signatures::of(const ParserState& state) const {
  const auto& [s0, s1, s2] = state.stack;
  std::uint64_t small = reads_distance_ && s1 != 0 ? distance_class(s1, s0) : 0;
  for (std::size_t side = 0; side < 2; ++side) {
    small = small << 3 | (own_valency_[side] ? state.own_valency[side] : 0U);
    small = small << 3 | (below_valency_[side] ? state.below_valency[side] : 0U);
  }
  Signature result;
  result.words[0] = std::uint64_t{s0_[s0]} << 48 | std::uint64_t{s1_matters_ ? s1_[s1] : std::uint16_t{0}} << 32 |
                    std::uint64_t{s2_matters_ ? s2_[s2] : std::uint16_t{0}} << 16 | small;
  result.words[3] = state.next;
  for (std::size_t k = 0; k < 4; ++k) {
    result.words[1] = result.words[1] << 16 | (own_[k] ? modifiers_[state.own[k]] : 0U);
    result.words[2] = result.words[2] << 16 | (below_[k] ? modifiers_[state.below[k]] : 0U);
  }
  return result;
}

}  // namespace marginloom
