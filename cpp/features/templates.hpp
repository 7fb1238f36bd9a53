// The language in which features of tokens are described.
//
//   # a comment
//   bias                     one feature that every token has
//   word[0]                  the word; [-1] is the token before, [2] the one after the next
//   lower[0]                 the word in lower case
//   prefix[0,3] suffix[0,2]  on one line: a conjunction, here of the first three and the last two letters
//   shape[0] shortshape[0]   Xxxx-dd, and Xx-d
//   pos[0] column[0,4]       the part of speech, the fourth column of what is learnt from
//   column[0,lemma]          the column of that name
//   feats[0] feats.Case[0]   the column FEATS as a whole, and the value that it has for one name
//   cluster[0,6]             the first six steps of the word's cluster path
//   gazetteer[0]             every list that has an entry which covers the token, as NAME-B or NAME-I
//   label[-1] word[0]        the label of the token before, together with something observed; label[-2] is the one
//   before
//
// About an arc of a tree, positions are h (its head), m (its modifier), b (a word between them) and s (the modifier's
// nearest sibling on the way to the head), with distances such as h+1 or m-2:
//
//   pos[h] pos[m]            a conjunction of both
//   pos[h] pos[b] pos[m]     one feature for every different part of speech between them
//   pos[h] pos[s] pos[m]     about an arc and its sibling
//   xpos[h]                  the other part of speech
//   direction distance       whether the modifier comes after its head, and how far away it is, 6-10 and 11+ alike
//   label word[m]            together with the arc's label
//   label word[f] pos[m]     a label where the tree is known, with more positions: g (the head's head), p and n (the
//                            dependents of the same head before and after m), f and l (m's first and last dependent)
//
// About a state of a parser that works from left to right, positions are s0, s1 and s2 (the top of the stack, and what
// is below it) and q0, q1 and q2 (the next word, and those after it); s0.l, s0.r, s1.l and s1.r are the leftmost and
// rightmost modifier of a word of the stack so far, and s0.l2 and so on the second ones:
//
//   pos[s0] pos[q0]          a conjunction of both
//   pos[s1] pos[s1.r]        s1 and its rightmost modifier
//   valency[s0.l]            how many modifiers s0 has on its left, 7 and more alike
//   distance                 how far s0 is from s1
//   label word[m]            a template of labels, about an arc
//
// About a span of tokens, or an ordered pair of two spans, positions are words: a place, a dot and a part of it.
// Without a place they are about the span itself; places of pairs are head, tail, left and right (the same two spans in
// the order of the text) and between:
//
//   word[first] word[last+1]      the first word of the span, and the one after it
//   lower[all] length             the whole phrase, and how many words it has, 5+ alike
//   word[every]                   one feature for every different word of it
//   word[around.every]            ... of the three before it and the three after it
//   word[head.last] word[tail.last] order     the last words of both, and which stands first
//   word[between.every] distance  every different word between them, and how many there are, in classes
//   pos[between.all]              all tags between them, up to 6
//   word[between.pairs]           every different pair of neighbors between them
//   word[sentence.every] pair     every word of the sentence, for pairs
//   entities                      how many other spans lie between, 3+ alike
//
// A line is one template. Beyond the ends of a sentence an atom's value is <s> or </s>; a template of which an atom has
// no value (a prefix longer than the word, a word without cluster) gives no feature for the token.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace marginloom {

// Values of atoms beyond the ends of a sentence.
constexpr std::string_view before_start = "<s>";
constexpr std::string_view after_end = "</s>";

struct Atom {
  enum class Kind {
    bias,
    word,
    lower,
    prefix,
    suffix,
    shape,
    shortshape,
    pos,
    xpos,
    column,
    cluster,
    feats,
    gazetteer,
    direction,
    distance,
    label,
    valency,
    length,
    order,
    entities,
    pair
  };
  // Those of states are in the order of their names, see state_place_names.
  enum class Place {
    token,
    head,
    modifier,
    between,
    sibling,
    s0,
    s1,
    s2,
    q0,
    q1,
    q2,
    s0_left,
    s0_right,
    s0_left2,
    s0_right2,
    s1_left,
    s1_right,
    s1_left2,
    s1_right2,
    span,
    around,
    tail,
    left,
    right,
    sentence,
    grandparent,
    previous,
    next,
    first_child,
    last_child
  };
  // Of a place that is a row of tokens.
  enum class Part { first, last, every, pairs, all };

  Kind kind;
  Place place = Place::token;
  int offset = 0;
  std::size_t argument = 0;  // letters, steps, or of column and feats the index from 0 in the table that is read
  std::string column = {};   // as written: a number from 1, or a name; of feats the name in it, if there is one
  Part part = Part::first;

  // Whether it reads a word.
  [[nodiscard]] bool has_place() const { return kind <= Kind::gazetteer && kind != Kind::bias; }
  // Whether a place in a row of tokens may give it several values.
  [[nodiscard]] bool lists() const {
    return has_place() && (kind == Kind::gazetteer || part == Part::every || part == Part::pairs);
  }
  friend bool operator==(const Atom&, const Atom&) = default;
};

struct Template {
  std::vector<Atom> atoms;         // about tokens: without labels
  std::string name;                // as written, with single spaces
  std::size_t line = 0;            // of the text, from 1
  bool label_before = false;       // about tokens: it has label[-1]
  bool label_before_that = false;  // label[-2]

  [[nodiscard]] bool has_labels() const { return label_before || label_before_that; }

  [[nodiscard]] bool has(Atom::Kind kind) const { return std::ranges::find(atoms, kind, &Atom::kind) != atoms.end(); }
  [[nodiscard]] bool has(Atom::Place place) const {
    return std::ranges::any_of(atoms, [=](const Atom& atom) { return atom.has_place() && atom.place == place; });
  }
};

// What templates are about: tokens, arcs of trees, states of a parser (with templates of labels, which are about arcs),
// or spans and pairs of them.
enum class Scope { tokens, arcs, states, spans };

// Whether a template of arcs reads more of a tree than the arc and its siblings between the two words.
[[nodiscard]] bool reads_tree(const Template& line);
// Whether a template of the scope `spans` is about pairs; the others are about one span.
[[nodiscard]] bool is_about_pairs(const Template& line);

// The names of places from Atom::Place::s0 on.
inline constexpr std::array<std::string_view, 14> state_place_names{
    "s0", "s1", "s2", "q0", "q1", "q2", "s0.l", "s0.r", "s0.l2", "s0.r2", "s1.l", "s1.r", "s1.l2", "s1.r2"};

// Throws std::invalid_argument with the line's number, what it has and what was expected.
[[nodiscard]] std::vector<Template> parse_templates(std::string_view text, Scope scope = Scope::tokens);

}  // namespace marginloom
