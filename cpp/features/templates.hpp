// The language in which features of tokens are described.
//
//   # a comment
//   bias                     one feature that every token has
//   word[0]                  the word; [-1] is the token before, [2] the one after the next
//   lower[0]                 the word in lower case
//   prefix[0,3] suffix[0,2]  on one line: a conjunction, here of the first three and the last two letters
//   shape[0] shortshape[0]   Xxxx-dd, and Xx-d
//   pos[0] column[0,4]       the part of speech, the fourth column
//   cluster[0,6]             the first six steps of the word's cluster path
//   gazetteer[0]             every list that has an entry which covers the token, as NAME-B or NAME-I
//
// A line is one template. Beyond the ends of a sentence an atom's value is <s> or </s>; a template of which an atom has
// no value (a prefix longer than the word, a word without cluster) gives no feature for the token.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace marginloom {

struct Atom {
  enum class Kind { bias, word, lower, prefix, suffix, shape, shortshape, pos, column, cluster, gazetteer };

  Kind kind;
  int offset = 0;
  std::size_t argument = 0;  // letters, steps, or the column's index from 0

  friend bool operator==(const Atom&, const Atom&) = default;
};

struct Template {
  std::vector<Atom> atoms;
  std::string name;  // as written, with single spaces
};

// Throws std::invalid_argument with the line's number, what it has and what was expected.
[[nodiscard]] std::vector<Template> parse_templates(std::string_view text);

}  // namespace marginloom
