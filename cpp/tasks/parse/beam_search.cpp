#include "tasks/parse/beam_search.hpp"

#include <algorithm>
#include <bit>

#include "core/interruption.hpp"
#include "core/kernels.hpp"

namespace marginloom {

BeamSearch::BeamSearch(const StateFeatures& features, const BeamOptions& options, bool labelled)
    : options_(options), signatures_(features, labelled) {
  if (options_.merging) slots_.resize(std::bit_ceil(2 * options_.beam));
}

void BeamSearch::run(const WordValues& words, WeightView w, StateScorer& scorer, BestLabels* labels,
                     const GoldDerivation* gold, PrefixChoice* choice) {
  scorer_ = &scorer;
  labels_ = labels;
  gold_ = gold;
  begin(words, w);
  const std::size_t steps = derivation_length(length_);
  for (std::size_t step = 0; step < steps; ++step) {
    last_ = step + 1 == steps;
    scorer_->run();
    if (gold_ != nullptr) follow_gold(gold_->steps[step]);
    expand();
    select();
    tops_.push_back(beam_.front());
    if (gold_ == nullptr) continue;
    place_gold();
    choice->take(nodes_[beam_.front()].score, gold_stack_.back().score, gold_in_beam_);
    if (choice->ends_search()) break;
  }
}

void BeamSearch::begin(const WordValues& words, WeightView w) {
  length_ = words.length;
  scorer_->begin(w, options_.beam);
  if (labels_ != nullptr) labels_->begin(w, length_);
  if (options_.merging) signatures_.load(words, labels_ != nullptr ? &labels_->parts() : nullptr);
  node_count_ = 0;
  links_.clear();
  tops_.clear();
  last_ = false;
  make_room();
  beam_.assign(1, new_node());
  nodes_[0] = Node{};
  want_actions(0);
  gold_stack_.assign(1, {0, 0, 0, 0});
  gold_in_beam_ = gold_ != nullptr;
}

// For the nodes of a step, whose places in memory the scorer knows until the next one.
void BeamSearch::make_room() {
  const std::size_t most = node_count_ + options_.beam + 2;
  if (most > nodes_.size()) nodes_.resize(std::max(most, 2 * nodes_.size()));
}

BeamSearch::Number BeamSearch::new_node() {
  return static_cast<Number>(node_count_++);
}

// Has the actions of a node scored for the next step: what is asked for early comes in time.
void BeamSearch::want_actions(Number number) {
  Node& node = nodes_[number];
  if (!last_) scorer_->add(node.state, &node.actions);
}

double BeamSearch::root_score(std::size_t word) {
  return labels_ != nullptr && last_ ? labels_->best(0, word).score : 0;
}

// Makes gold's next step, and notes the candidate by which it would stay in the beam.
void BeamSearch::follow_gold(const DerivationStep& step) {
  const GoldTop top = gold_stack_.back();
  const Node& node = nodes_[top.node];
  double root = 0;
  if (labels_ != nullptr && last_) {
    root = labels_->score(0, gold_->root, gold_->root_label);
    gold_in_beam_ = gold_in_beam_ && labels_->best(0, gold_->root).label == gold_->root_label;
  }
  gold_step_.node = top.node;
  gold_step_.action = step.action;
  gold_node_ = none;
  if (step.action == Action::shift) {
    gold_under_ = none;
    gold_state_ = node.state.shifted();
    gold_stack_.back().shift = node.actions[0];
    gold_stack_.push_back({none, top.score + node.actions[0] + root, 0, 0});
    return;
  }
  gold_stack_.pop_back();
  const GoldTop under = gold_stack_.back();
  gold_under_ = under.node;
  gold_state_ = node.state.reduced(step.action, nodes_[under.node].state);
  double own = node.actions[static_cast<std::size_t>(step.action)];
  if (labels_ != nullptr) {
    const std::size_t upper = node.state.stack[0];
    const std::size_t lower = nodes_[under.node].state.stack[0];
    const bool to_left = step.action == Action::left;
    own += labels_->score(to_left ? upper : lower, to_left ? lower : upper, step.label);
    gold_in_beam_ =
        gold_in_beam_ && labels_->best(to_left ? upper : lower, to_left ? lower : upper).label == step.label;
  }
  own += root;
  const double gain = (under.shift + top.inside) + own;
  gold_stack_.back() = {none, under.score + gain, under.inside + gain, 0};
}

// Says where gold is after a step: in a node of the beam, or in one of its own.
void BeamSearch::place_gold() {
  gold_in_beam_ = gold_in_beam_ && gold_node_ != none;
  if (!gold_in_beam_) {
    gold_node_ = new_node();
    nodes_[gold_node_] = Node{};
    nodes_[gold_node_].state = gold_state_;
    want_actions(gold_node_);
  }
  gold_stack_.back().node = gold_node_;
}

void BeamSearch::expand() {
  constexpr double lowest = std::numeric_limits<double>::lowest();  // also of weights beyond all measure
  candidates_.clear();
  scores_.clear();
  for (const Number number : beam_) {
    const Node& node = nodes_[number];
    if (node.state.next <= length_) {
      candidates_.push_back({number, none, Action::shift});
      scores_.push_back(std::max(lowest, node.score + node.actions[0] + root_score(node.state.next)));
    }
    if (node.state.stack[1] == 0) continue;
    for (Number link = node.links; link != none; link = links_[link].next) {
      for (const Action action : {Action::left, Action::right}) {
        candidates_.push_back({number, link, action});
        scores_.push_back(std::max(lowest, nodes_[links_[link].under].score + gain(candidates_.back())));
      }
    }
  }
}

// What a reduction adds to the score of what lies under the node.
double BeamSearch::gain(const Candidate& candidate) {
  const Node& node = nodes_[candidate.node];
  const Link& link = links_[candidate.link];
  const Node& under = nodes_[link.under];
  double own = node.actions[static_cast<std::size_t>(candidate.action)];
  if (labels_ != nullptr) {
    const std::size_t upper = node.state.stack[0];
    const std::size_t lower = under.state.stack[0];
    const bool to_left = candidate.action == Action::left;
    own += labels_->best(to_left ? upper : lower, to_left ? lower : upper).score;
    own += root_score(to_left ? upper : lower);
  }
  return (under.actions[0] + link.inside) + own;
}

// Of equal scores those that came first go first: by the order of the beam, a shift before a reduction, left first.
void BeamSearch::select() {
  make_room();
  next_beam_.clear();
  most_links_ = links_.size() + links_per_state * options_.beam;
  signatures_of_.clear();
  ++stamp_;
  const std::size_t count = candidates_.size();
  scores_.resize(padded(count), -std::numeric_limits<double>::infinity());
  const std::size_t end = scores_.size();
  std::size_t taken = 0;
  // States that are one take one place: there may be room for more than those asked for first.
  for (std::size_t wanted = options_.beam; next_beam_.size() < options_.beam && taken < count; wanted = count) {
    const auto places = leading_.find(scores_.data(), end, wanted, std::less{}, end);
    for (; taken < places.size() && next_beam_.size() < options_.beam; ++taken) {
      take(candidates_[places[taken]], scores_[places[taken]]);
    }
    if (wanted >= count) break;
  }
  beam_.swap(next_beam_);
}

void BeamSearch::take(const Candidate& candidate, double score) {
  const Number made = new_node();
  Node& node = nodes_[made];
  const ParserState& before = nodes_[candidate.node].state;
  node.state = candidate.link == none ? before.shifted()
                                      : before.reduced(candidate.action, nodes_[links_[candidate.link].under].state);
  const Number number = options_.merging ? find_same(made) : made;
  if (number == made) {
    node.score = score;
    node.links = none;
    node.link_count = 0;
    next_beam_.push_back(made);
    want_actions(made);
  } else {
    --node_count_;
  }
  add_links(number, candidate);
  if (is_gold(candidate) && has_link(number, gold_stack_[gold_stack_.size() - 2].node)) gold_node_ = number;
}

bool BeamSearch::is_gold(const Candidate& candidate) const {
  return gold_in_beam_ && candidate.node == gold_step_.node && candidate.action == gold_step_.action &&
         (candidate.link == none || links_[candidate.link].under == gold_under_);
}

// The node of the next beam that is the same state as a new one: another, or this one, which is then known.
BeamSearch::Number BeamSearch::find_same(Number number) {
  const Signature signature = signatures_.of(nodes_[number].state);
  std::size_t place = signature.hash() & (slots_.size() - 1);
  for (; slots_[place].step == stamp_; place = (place + 1) & (slots_.size() - 1)) {
    if (signatures_of_[slots_[place].place] == signature) return next_beam_[slots_[place].place];
  }
  slots_[place] = {stamp_, static_cast<Number>(next_beam_.size())};
  signatures_of_.push_back(signature);
  return number;
}

void BeamSearch::add_links(Number number, const Candidate& candidate) {
  if (candidate.link == none) {
    add_link(number, {0, candidate.node, none, none, none, Action::shift});
    return;
  }
  const double gained = gain(candidate);
  for (Number below = nodes_[links_[candidate.link].under].links; below != none; below = links_[below].next) {
    const Link& link = links_[below];
    add_link(number, {link.inside + gained, link.under, none, below, candidate.link, candidate.action});
  }
}

// Of several links to one node the best counts. A node has as many as the beam has states at most, and those of a step
// have a few each on average, the best ones; a new node has its first in any case.
void BeamSearch::add_link(Number number, const Link& link) {
  Node& node = nodes_[number];
  Number last = none;
  for (Number own = node.links; own != none; own = links_[own].next) {
    last = own;
    if (links_[own].under != link.under) continue;
    if (own != node.links && link.inside > links_[own].inside) {
      const Number next = links_[own].next;
      links_[own] = link;
      links_[own].next = next;
    }
    return;
  }
  if (node.link_count == options_.beam || (last != none && links_.size() >= most_links_)) return;
  const auto added = static_cast<Number>(links_.size());
  links_.push_back(link);
  (last == none ? node.links : links_[last].next) = added;
  ++node.link_count;
}

bool BeamSearch::has_link(Number number, Number under) const {
  for (Number link = nodes_[number].links; link != none; link = links_[link].next) {
    if (links_[link].under == under) return true;
  }
  return false;
}

void BeamSearch::best_actions(std::size_t steps, Derivation& derivation) {
  // What is still to be written, the last first: a link, or the action that ends one.
  const auto whole = [](Number link) { return 2 * link; };
  const auto end = [](Number link) { return 2 * link + 1; };
  pending_.clear();
  derivation.clear();
  for (Number node = tops_[steps - 1]; nodes_[node].links != none;) {
    pending_.push_back(whole(nodes_[node].links));
    node = links_[nodes_[node].links].under;
  }
  while (!pending_.empty()) {
    const Number what = pending_.back();
    const Link& link = links_[what / 2];
    pending_.pop_back();
    if (what % 2 == 1 || link.left == none) {
      derivation.push_back({link.action, 0});
      continue;
    }
    pending_.push_back(end(what / 2));
    pending_.push_back(whole(link.right));
    pending_.push_back(whole(link.left));
  }
}

}  // namespace marginloom
