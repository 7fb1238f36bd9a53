// The values of atoms, token by token: what features of anything made of tokens are combined of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "features/templates.hpp"
#include "features/vocabulary.hpp"

namespace marginloom {

// Sentences of tokens with columns, whatever they are read from.
class TokenColumns {
 public:
  virtual ~TokenColumns() = default;
  [[nodiscard]] virtual std::size_t columns() const = 0;
  [[nodiscard]] virtual const std::vector<std::uint64_t>& sentences() const = 0;  // offsets into tokens
  [[nodiscard]] virtual std::string_view cell(std::size_t token, std::size_t column) const = 0;
};

// What atoms can look up besides the sentence.
struct Resources {
  Vocabulary cluster_words;
  std::vector<std::string> cluster_paths;  // of the words, by number
  struct Gazetteer {
    std::string name;
    Vocabulary phrases;       // tokens joined by spaces
    std::size_t longest = 0;  // tokens
  };
  std::vector<Gazetteer> gazetteers;
};

// Which columns of a table atoms mean. What they are called elsewhere, callers know.
struct AtomColumns {
  std::size_t word = 0;
  std::optional<std::size_t> pos;
  std::optional<std::size_t> xpos;
  std::map<std::string, std::size_t> written = {};  // by what stands in column[...]; `feats` is read by name too

  [[nodiscard]] std::size_t of(const Atom& atom) const;
  // Columns that a table must have at least for some templates.
  [[nodiscard]] std::size_t needed(std::span<const Template> templates) const;
  // Gives the atoms `column` and `feats` their places; throws std::invalid_argument if a template reads a column that
  // is not there.
  void settle(std::span<Template> templates) const;
};

// Reads one sentence after the other; equal cells of a column have one number, whatever sentence they are in, so that
// what was computed for one need not be computed again.
class AtomReader {
 public:
  AtomReader(const TokenColumns& table, const AtomColumns& columns, const Resources& resources,
             std::span<const Template> templates);

  void load(std::size_t sentence);
  [[nodiscard]] std::size_t length() const { return length_; }
  // Of a token of the sentence.
  [[nodiscard]] std::uint32_t cell_number(const Atom& atom, std::size_t token) const {
    return numbers_[columns_.of(atom)][token];
  }
  // Appends the value that an atom has at a token of the sentence; false if it has none. Not for gazetteers.
  bool append_value(const Atom& atom, std::size_t token, std::string& key) const;
  // The lists whose longest entry from some token on covers this one, as NAME-B or NAME-I.
  [[nodiscard]] const std::vector<std::string>& gazetteer_matches(std::size_t token) const { return matches_[token]; }

 private:
  void match_gazetteers();

  const TokenColumns& table_;
  AtomColumns columns_;
  const Resources& resources_;
  bool matches_lists_ = false;
  std::vector<bool> used_;                           // columns
  std::vector<Vocabulary> cells_;                    // per column, the cells met so far
  std::vector<std::vector<std::uint32_t>> numbers_;  // per column, the sentence's cells
  std::vector<std::vector<std::string>> matches_;    // of gazetteers, per token
  std::size_t first_ = 0;
  std::size_t length_ = 0;
};

}  // namespace marginloom
