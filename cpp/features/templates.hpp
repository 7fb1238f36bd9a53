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
//
// A line is one template. Beyond the ends of a sentence an atom's value is <s> or </s>; a template of which an atom has
// no value (a prefix longer than the word, a word without cluster) gives no feature for the token.
#pragma once

#include <algorithm>
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
    gazetteer,
    direction,
    distance,
    label
  };
  enum class Place { token, head, modifier, between, sibling };

  Kind kind;
  Place place = Place::token;
  int offset = 0;
  std::size_t argument = 0;  // letters, steps, or the column's index from 0 in the table that is read
  std::string column = {};   // as written: a number from 1, or a name

  [[nodiscard]] bool has_place() const {
    return kind != Kind::bias && kind != Kind::direction && kind != Kind::distance && kind != Kind::label;
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

// What templates are about: tokens, or arcs of trees.
enum class Scope { tokens, arcs };

// Throws std::invalid_argument with the line's number, what it has and what was expected.
[[nodiscard]] std::vector<Template> parse_templates(std::string_view text, Scope scope = Scope::tokens);

}  // namespace marginloom
