// Arc-standard derivations of projective trees, without a root on the stack.
//
//   shift   the next word goes on the stack
//   left    s1 becomes a modifier of s0, and leaves the stack
//   right   s0 becomes a modifier of s1, and leaves the stack
//
// A tree of n words takes n shifts and n - 1 reductions, in some order; the word that is left is the root. Several
// derivations make one tree. The gold derivation is that which reduces as early as possible.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tasks/parse/trees.hpp"

namespace marginloom {

enum class Action : std::uint8_t { shift, left, right };
inline constexpr std::size_t action_count = 3;

// An action; a reduction has the label of its arc, if arcs have labels.
struct DerivationStep {
  Action action = Action::shift;
  std::uint16_t label = 0;

  friend bool operator==(const DerivationStep&, const DerivationStep&) = default;
};
using Derivation = std::vector<DerivationStep>;

// Steps that a tree of so many words takes.
[[nodiscard]] constexpr std::size_t derivation_length(std::size_t words) {
  return words == 0 ? 0 : 2 * words - 1;
}

// Writes the gold derivation of a projective tree with one root. `labels` are those of all words from place 1 on, or
// empty.
void derive(std::span<const Head> heads, std::span<const std::uint16_t> labels, Derivation& derivation);

// What a derivation, or its beginning, has made of a sentence.
struct PartialTree {
  static constexpr Head unknown = 0xFFFF;

  Heads heads;                        // unknown: the word is on the stack, or has not been read
  std::vector<std::uint16_t> labels;  // where there is a head
  std::vector<Head> stack;            // words, the bottom first
  std::size_t next = 1;

  void begin(std::size_t words);
  // False, and nothing changes, if the step is impossible.
  [[nodiscard]] bool take(const DerivationStep& step);
  // Makes the word that is left the root.
  void end(std::uint16_t root_label);
  [[nodiscard]] bool complete() const { return next == heads.size() && stack.size() <= 1; }

  // Words with a wrong head or label, or whose gold head is out of reach since it has left the stack. Labels may be
  // empty.
  [[nodiscard]] std::size_t loss(std::span<const Head> gold, std::span<const std::uint16_t> gold_labels) const;
};

// What features can see of a state: the next word, three words of the stack (0: none), and the modifiers of the upper
// two: the leftmost, the rightmost, and the second ones. 7 and more modifiers on a side are alike.
struct ParserState {
  static constexpr std::uint8_t most = 7;
  using Modifiers = std::array<std::uint16_t, 4>;
  using Valency = std::array<std::uint8_t, 2>;

  std::array<std::uint16_t, 3> stack{};
  std::uint16_t next = 1;
  Modifiers own{}, below{};
  Valency own_valency{}, below_valency{};

  [[nodiscard]] ParserState shifted() const {
    ParserState result;
    result.stack = {next, stack[0], stack[1]};
    result.next = static_cast<std::uint16_t>(next + 1);
    result.below = own;
    result.below_valency = own_valency;
    return result;
  }

  // `under` is the state in which the first word below s0 was shifted: it knows what lies under s0.
  [[nodiscard]] ParserState reduced(Action action, const ParserState& under) const {
    ParserState result = under;
    result.next = next;
    if (action == Action::left) {
      result.stack[0] = stack[0];
      result.own = {under.stack[0], own[1], own[0], own[3]};
      result.own_valency = {one_more(own_valency[0]), own_valency[1]};
    } else {
      result.own = {under.own[0], stack[0], under.own[2], under.own[1]};
      result.own_valency[1] = one_more(under.own_valency[1]);
    }
    return result;
  }

 private:
  [[nodiscard]] static std::uint8_t one_more(std::uint8_t count) {
    return count < most ? static_cast<std::uint8_t>(count + 1) : most;
  }
};

}  // namespace marginloom
