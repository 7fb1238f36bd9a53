// Which states of a beam are one: those of one step with the same next word and the same values of everything that
// templates read of them, now or after further steps.
//
// A word of the stack is known by its class: words are of one class at a place if all views that are read there, or
// wherever the word may get from there, have the same values. s0 may become s1, s2 or a modifier; what is below it
// stays until s0 is gone, and then is known from the state that lies under it. If distances are read, or arcs have
// labels that see them, a word is known by its position.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tasks/parse/derivation.hpp"
#include "tasks/parse/state_features.hpp"

namespace marginloom {

struct Signature {
  std::array<std::uint64_t, 4> words{};

  friend bool operator==(const Signature&, const Signature&) = default;
  [[nodiscard]] std::uint64_t hash() const {
    std::uint64_t sum = words[0] * 0x9E3779B97F4A7C15ULL;
    sum = (sum ^ sum >> 32 ^ words[1]) * 0xBF58476D1CE4E5B9ULL;
    sum = (sum ^ sum >> 32 ^ words[2]) * 0x94D049BB133111EBULL;
    sum = (sum ^ sum >> 32 ^ words[3]) * 0x9E3779B97F4A7C15ULL;
    return sum ^ sum >> 32;
  }
};

// Memory of one thread.
class Signatures {
 public:
  Signatures(const StateFeatures& features, bool labelled);

  // `labels` are the parts of the words for labels; not looked at without labels.
  void load(const WordValues& words, const KeyParts* labels);
  [[nodiscard]] Signature of(const ParserState& state) const;

 private:
  using Classes = std::vector<std::uint16_t>;

  void find_classes(const WordValues& words, const std::vector<std::size_t>& views, const KeyParts* labels,
                    Classes& classes);

  const StateFeatures& features_;
  bool labelled_;
  bool by_position_;  // s0
  bool reads_distance_;
  std::vector<std::size_t> views_of_s0_, views_of_s1_, views_of_s2_, views_of_modifiers_;
  bool s1_matters_, s2_matters_;
  std::array<bool, 4> own_{}, below_{};  // modifiers whose words matter
  std::array<bool, 2> own_valency_{}, below_valency_{};
  Classes s0_, s1_, s2_, modifiers_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint32_t> slots_;
};

}  // namespace marginloom
