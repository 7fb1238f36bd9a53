// The best derivation of a sentence by beam search, with dynamic programming (Huang and Sagae 2010) or without.
//
// With dynamic programming, states that features cannot tell apart are one *node* (state_signature.hpp), which stands
// for all derivations that lead there. A node p keeps the best score c(p) of those, and *links* to the nodes q that lie
// under it: q is the state in which the first word of s0's subtree was shifted, and the link has v, the best score of
// what was done since then. With xi(q) the score of that shift and lambda that of the next action:
//
//   shift    p            ->  c = c(p) + xi(p)                       one link, to p, with v = 0
//   reduce   p over q     ->  c = c(q) + xi(q) + v(p, q) + lambda    the links of q, each with v + xi(q) + v(p, q) +
//   lambda
//
// A link knows the two links that it is made of, and so its actions. Without dynamic programming every node has one
// link: stacks share what lies below their top. Either way a step takes the same time whatever the sentence's length,
// and since a step adds no more than a few links a state, memory is proportional to states times steps.
//
// Gold is followed as a derivation: its score is summed along its own steps, by the same additions, whether it is in
// the beam or not.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/aligned_vector.hpp"
#include "core/leading.hpp"
#include "core/prefix_update.hpp"
#include "tasks/parse/best_labels.hpp"
#include "tasks/parse/derivation.hpp"
#include "tasks/parse/state_scorer.hpp"
#include "tasks/parse/state_signature.hpp"

namespace marginloom {

struct BeamOptions {
  std::size_t beam = 8;
  bool merging = true;
  PrefixUpdate update = PrefixUpdate::max_violation;
};

// What the words of a sentence with a tree are derived by.
struct GoldDerivation {
  std::span<const DerivationStep> steps;
  std::uint16_t root = 0;  // the root, where there are labels to score
  std::uint16_t root_label = 0;
};

// Memory of one thread.
class BeamSearch {
 public:
  BeamSearch(const StateFeatures& features, const BeamOptions& options, bool labelled);

  // Searches a sentence of at least one word that scorer and labels have loaded; `labels` is null if arcs have none.
  // With gold it fills in the choice, and may end where no later step matters for it.
  void run(const WordValues& words, WeightView w, StateScorer& scorer, BestLabels* labels, const GoldDerivation* gold,
           PrefixChoice* choice);

  [[nodiscard]] std::size_t steps() const { return tops_.size(); }  // made; all unless run() has ended before
  // The score of the best derivation in the beam after so many steps, and its actions, whose labels are not set.
  [[nodiscard]] double best_score(std::size_t steps) const { return nodes_[tops_[steps - 1]].score; }
  void best_actions(std::size_t steps, Derivation& derivation);

 private:
  using Number = std::uint32_t;
  static constexpr Number none = 0xFFFFFFFF;

  struct Node {
    ParserState state;
    Number links = none;  // the first is that of the best derivation
    Number link_count = 0;
    double score = 0;  // c
    ActionScores actions{};
  };
  struct Link {
    double inside;  // v
    Number under;   // node
    Number next;    // of the same node
    Number left;    // links that it is made of; none: the word was shifted
    Number right;
    Action action;
  };
  struct Candidate {
    Number node;
    Number link;  // of what is reduced; none: shift
    Action action;
  };
  // A word of gold's stack: the node in which it was on top, and gold's own c and v there, and xi.
  struct GoldTop {
    Number node;
    double score;
    double inside;
    double shift;
  };

  void begin(const WordValues& words, WeightView w);
  void make_room();
  void want_actions(Number number);
  void expand();
  [[nodiscard]] double gain(const Candidate& candidate);
  void select();
  [[nodiscard]] Number new_node();
  void take(const Candidate& candidate, double score);
  [[nodiscard]] bool is_gold(const Candidate& candidate) const;
  [[nodiscard]] Number find_same(Number number);
  void add_links(Number number, const Candidate& candidate);
  void add_link(Number number, const Link& link);
  void follow_gold(const DerivationStep& step);
  void place_gold();
  [[nodiscard]] double root_score(std::size_t word);
  [[nodiscard]] bool has_link(Number number, Number under) const;

  const BeamOptions& options_;
  Signatures signatures_;
  std::size_t length_ = 0;
  bool last_ = false;  // of all steps
  StateScorer* scorer_ = nullptr;
  BestLabels* labels_ = nullptr;
  const GoldDerivation* gold_ = nullptr;
  std::vector<Node> nodes_;
  std::size_t node_count_ = 0;
  std::vector<Link> links_;
  std::size_t most_links_ = 0;  // at the end of this step
  std::vector<Number> beam_, next_beam_;
  std::vector<Number> tops_;  // best node after each step
  std::vector<Candidate> candidates_;
  AlignedVector<double> scores_;  // theirs, and minus infinity up to the end of a row
  Leading leading_;
  struct Slot {
    std::uint64_t step = 0;
    Number place = none;  // in the next beam
  };
  std::vector<Slot> slots_;
  std::vector<Signature> signatures_of_;  // of the nodes of the next beam
  std::uint64_t stamp_ = 0;
  std::vector<GoldTop> gold_stack_;
  bool gold_in_beam_ = false;
  Candidate gold_step_{};     // by which gold stays in the beam, but for its link
  Number gold_under_ = none;  // what is reduced by it
  ParserState gold_state_;    // after it
  Number gold_node_ = none;   // of the next beam, if that has it
  std::vector<Number> pending_;

 public:
  // What a state of the beam takes at most on average: itself and its links; and for as long as its step is made, a
  // candidate for a shift and two for each link.
  static constexpr std::size_t links_per_state = 8;
  static constexpr std::size_t node_bytes = sizeof(Node) + links_per_state * sizeof(Link);
  static constexpr std::size_t candidate_bytes =
      (1 + 2 * links_per_state) * (sizeof(Candidate) + sizeof(double) + Leading::bytes_each);
  // Made in the last search.
  [[nodiscard]] std::size_t link_count() const { return links_.size(); }
};

}  // namespace marginloom
