// The best paths through a chain one after the other, exactly and in order, from Viterbi's forward scores.
//
// The best path follows the best predecessors from the end. Every other path has one parent: it goes with it from the
// end down to a token, takes another label there and then follows the best predecessors. So each path is found once and
// none is lost, however scores round. A step costs what it scores less than the best one into the same label; a path
// costs the sum over its steps, never less than its parent, and scores the best path's score minus its cost. A heap
// has, for each path found and each token, the next deviation from it; taking one out adds its sibling, the next label
// at that token, and its children, the second best predecessors below. Predecessors are scanned once per token and
// label on a path: with T tokens and L labels, a path takes O(T L) at most, and T where it has joined earlier ones. Of
// equal costs the path with the lower label at the last token where they differ comes first, as in Viterbi's algorithm.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tasks/sequence/viterbi.hpp"

namespace marginloom {

class KBestPaths {
 public:
  // Prepares to find up to k paths. The scores must stay as they are until the last of them.
  void start(const ChainScores& chain, std::size_t k);

  // Finds the next best path; false if there is none with a finite score, or k have been found.
  [[nodiscard]] bool next();

  // Of the path found last; they live until the next call.
  [[nodiscard]] std::span<const std::uint16_t> labels() const { return labels_of(found_.size() - 1); }
  [[nodiscard]] double score() const { return best_score_ - found_.back().cost; }

 private:
  // A path as the difference from its parent.
  struct Deviation {
    double cost = 0;           // of the whole path
    double score = 0;          // of the prefix that ends in `label` with the step to the parent's next label
    std::uint32_t parent = 0;  // number in the order of finding
    std::uint32_t depth = 0;   // number of ancestors
    std::uint32_t token = 0;   // the last at which it differs from its parent
    std::uint16_t label = 0;   // there
  };
  // The best and the second best label before a label at a token; the lower one of equals.
  struct Predecessors {
    double best_score;
    double second_score;   // minus infinity: there is none
    std::uint64_t search;  // the one that filled this in
    std::uint16_t best;
    std::uint16_t second;
  };

  [[nodiscard]] std::span<const std::uint16_t> labels_of(std::size_t path) const {
    return std::span(labels_).subspan(path * chain_.length, chain_.length);
  }
  template <class Function>
  void visit_steps(std::size_t t, std::size_t label, Function function);
  const Predecessors& predecessors(std::size_t t, std::size_t label);
  [[nodiscard]] bool precedes(const Deviation& a, const Deviation& b) const;
  void offer(const Deviation& deviation);
  void offer_children();
  void offer_sibling(const Deviation& deviation);
  void add_path(const Deviation& deviation);
  void drop_hopeless();

  ChainScores chain_{};
  std::size_t k_ = 0;
  std::uint64_t search_ = 0;
  double best_score_ = 0;
  std::vector<Predecessors> predecessors_;  // per token and label; the token after the last has one label, 0
  std::vector<Deviation> found_;
  std::vector<std::uint16_t> labels_;  // of the paths found, one after the other
  std::vector<Deviation> heap_;
  std::vector<double> column_;  // of transitions that differ from token to token
};

}  // namespace marginloom
