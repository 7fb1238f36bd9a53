// Dependency trees: every word has a head, another word or the root. Words count from 1, the root is 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace marginloom {

using Head = std::uint16_t;
using Heads = std::vector<Head>;  // heads[0] is no word's and 0

// Scores of arcs: row h, column m.
class ArcScores {
 public:
  void resize(std::size_t length) {
    length_ = length;
    values_.assign((length + 1) * (length + 1), 0.0);
  }
  [[nodiscard]] std::size_t length() const { return length_; }  // words
  [[nodiscard]] double* row(std::size_t head) { return values_.data() + head * (length_ + 1); }
  [[nodiscard]] const double* row(std::size_t head) const { return values_.data() + head * (length_ + 1); }
  [[nodiscard]] double& at(std::size_t head, std::size_t modifier) { return row(head)[modifier]; }
  [[nodiscard]] double at(std::size_t head, std::size_t modifier) const { return row(head)[modifier]; }

 private:
  std::size_t length_ = 0;
  std::vector<double> values_;
};

// Whether every word reaches the root, and only one of them directly if `one_root`.
[[nodiscard]] bool is_tree(std::span<const Head> heads, bool one_root);

// Whether no two arcs of a tree cross; the root stands before the first word.
[[nodiscard]] bool is_projective(std::span<const Head> heads);

[[nodiscard]] double sum_of_arcs(const ArcScores& scores, std::span<const Head> heads);

}  // namespace marginloom
