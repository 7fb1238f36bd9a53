// The best sets of labels one after the other where the pairs that interact form a forest, exactly and in order, from
// what max-product leaves.
//
// Labels are decided from the roots on. With the parent present (p = 1) or absent (p = 0), having label l brings
//   margin_l(p) = on_l + p v_l - off_l
// more than not having it, subtree and all; the best set has every label with a positive margin. A set that decides
// otherwise at some labels costs the sum of |margin_l(p)| there, under the parents that it has itself, and scores the
// best set's score minus its cost. Every set but the best has one parent: the same decisions but for the last one, in
// the order of the nodes, that went against the margin. So each set is found once, never before its parent, and a heap
// of the next decisions against the margin gives them in order, each in O(L log k) for L labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/types.hpp"

namespace marginloom {

struct ForestNode {
  std::uint32_t label;
  std::uint32_t parent;  // itself: a root
  std::uint32_t pair;    // that connects the two
};

// What max-product leaves; it must stay as it is until the last set is found.
struct ForestScores {
  std::span<const ForestNode> nodes;  // parents before their children
  std::span<const double> on;         // per label: best of its subtree with the label present, without its parent
  std::span<const double> off;        // ... and absent
  const double* weights;              // of the pairs
};

class KBestForest {
 public:
  // Prepares to find up to k sets, of which `best` is the first and found already.
  void start(const ForestScores& forest, double best_score, ByteView best, std::size_t k);

  // Finds the next best set; false if there is none, or k have been found.
  [[nodiscard]] bool next();

  // Of the set found last; they live until the next call.
  [[nodiscard]] double score() const { return best_score_ - cost_; }
  [[nodiscard]] ByteView set() const { return set_of(found_ - 1); }

 private:
  // A set as its parent and the last decision against the margin.
  struct Deviation {
    double cost = 0;           // of the whole set
    std::uint32_t parent = 0;  // number in the order of finding
    std::uint32_t node = 0;
  };

  [[nodiscard]] ByteView set_of(std::size_t found) const { return std::span(sets_).subspan(found * bytes_, bytes_); }
  [[nodiscard]] double margin(const ForestNode& node, ByteView set) const;
  void offer_children(std::size_t first_node);
  void drop_hopeless();

  ForestScores forest_{};
  std::size_t k_ = 0;
  std::size_t bytes_ = 0;
  std::size_t found_ = 0;
  double best_score_ = 0;
  double cost_ = 0;
  std::vector<std::uint8_t> sets_;  // those found, one after the other
  std::vector<Deviation> heap_;
};

}  // namespace marginloom
