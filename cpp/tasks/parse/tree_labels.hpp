// Features for the labels of arcs of trees that are known: templates see the tree around an arc.
//
// The dependents of a head, in the order of the text, are a chain: their labels are found together (sequence.hpp), so
// that each can depend on the one before it. Features are rows of weights, numbered by the upper bits of a hash of the
// template and of the values of its atoms.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/parallel.hpp"
#include "features/atom_reader.hpp"
#include "tasks/parse/arc_templates.hpp"
#include "tasks/parse/trees.hpp"

namespace marginloom {

// The words around an arc: those of Atom::Place in this order.
enum class TreePlace { head, modifier, grandparent, previous, next, first_child, last_child };
inline constexpr std::size_t tree_places = 7;

// The arcs of trees as chains; words are numbered across all sentences.
struct ArcChains {
  std::vector<std::uint64_t> chains;   // chain i has the arcs chains[i] .. chains[i + 1] - 1
  std::vector<std::uint64_t> words;    // the dependent of every arc
  std::vector<std::uint8_t> kinds;     // of every arc: 1 if it is a root's, else 0
  std::vector<std::uint64_t> offsets;  // arc k has the features offsets[k] .. offsets[k + 1] - 1
  std::vector<std::uint32_t> features;
};

class TreeLabelExtractor {
 public:
  // Of all templates, those of labels.
  TreeLabelExtractor(std::vector<Template> templates, const AtomColumns& columns, Resources resources);

  [[nodiscard]] const std::vector<Template>& templates() const { return templates_; }
  [[nodiscard]] std::size_t views() const { return views_.size(); }
  [[nodiscard]] std::vector<std::uint64_t> values(const TokenColumns& table, int threads, StopRequest stop = {}) const;

  // The arcs of sentences whose words have these values and heads, with features below 2^bits. Throws
  // std::invalid_argument if the arrays do not fit together, or a head is beyond its sentence.
  [[nodiscard]] ArcChains encode(std::span<const std::uint64_t> values, std::span<const std::uint64_t> sentences,
                                 std::span<const Head> heads, int bits, int threads, StopRequest stop = {}) const;

 private:
  struct Term {
    std::uint64_t factor;
    std::size_t place;
    std::size_t view;
    std::ptrdiff_t offset;
  };
  struct Line {
    FeatureKey constant = 0;
    std::vector<Term> terms;
    std::uint64_t direction = 0, distance = 0;  // factors, 0 if it has no such atom
  };

  void add_sentence(std::span<const std::uint64_t> values, std::span<const Head> heads, std::size_t first, int bits,
                    ArcChains& found) const;
  void add_features(const WordValues& words, const std::array<std::size_t, tree_places>& places, int bits,
                    std::vector<std::uint32_t>& features) const;

  std::vector<Template> templates_;
  AtomColumns columns_;
  Resources resources_;
  std::vector<Atom> views_;
  std::vector<Line> lines_;
};

}  // namespace marginloom
