#include "tasks/parse/spanning_tree.hpp"

#include <algorithm>
#include <limits>

#include "core/interruption.hpp"

namespace marginloom {
namespace {

enum State : std::uint8_t { unseen, on_path, done };

}  // namespace

double SpanningTree::best_tree(const ArcScores& scores, bool one_root, Heads& heads) {
  const std::size_t length = scores.length();
  heads.assign(length + 1, 0);
  if (length == 0) return 0;
  start(scores, one_root);
  for (std::size_t word = 1; word <= length; ++word) {
    if (state_[tops_[word]] == done) continue;
    path_.assign(1, tops_[word]);
    state_[path_.back()] = on_path;
    for (;;) {
      choose_arc(path_.back());
      const std::size_t next = tops_[nodes_[path_.back()].arc.head];
      if (state_[next] == done) break;
      if (state_[next] == on_path) {
        contract(static_cast<std::size_t>(std::ranges::find(path_, next) - path_.begin()));
      } else {
        state_[next] = on_path;
        path_.push_back(next);
      }
    }
    for (const std::size_t node : path_) state_[node] = done;
  }
  expand(heads);
  return sum_of_arcs(scores, heads);
}

void SpanningTree::start(const ArcScores& scores, bool one_root) {
  const std::size_t length = scores.length();
  side_ = length + 1;
  worths_.resize(side_ * side_);
  modifiers_.resize(side_ * side_);
  nodes_.assign(side_, {});
  nodes_.reserve(2 * side_);
  tops_.resize(side_);
  state_.assign(2 * side_, unseen);
  state_[0] = done;
  const auto from_root = one_root ? static_cast<std::int64_t>(side_) : 0;  // no tree has so many arcs
  for (std::size_t m = 0; m < side_; ++m) {
    nodes_[m].row = m;
    tops_[m] = m;
    for (std::size_t h = 0; h < side_ && m > 0; ++h) {
      const double score = scores.at(h, m);
      const bool allowed = score > -std::numeric_limits<double>::infinity();
      const std::int64_t faults = (allowed ? 0 : 1) + (h == 0 ? from_root : 0);
      worths_[m * side_ + h] = {faults, allowed ? score : 0};
      modifiers_[m * side_ + h] = static_cast<Head>(m);
    }
  }
}

void SpanningTree::choose_arc(std::size_t node) {
  count_steps(side_);
  const std::size_t row = nodes_[node].row * side_;
  std::size_t best = side_;
  for (std::size_t h = 0; h < side_; ++h) {
    if (tops_[h] != node && (best == side_ || worths_[row + best] < worths_[row + h])) best = h;
  }
  nodes_[node].worth = worths_[row + best];
  nodes_[node].arc = {static_cast<Head>(best), modifiers_[row + best]};
}

// Makes one node of those on the path from `first` on, in the row of the first.
void SpanningTree::contract(std::size_t first) {
  const std::size_t made = nodes_.size();
  nodes_.push_back({nodes_[path_[first]].row, 0, {}, {}});
  const std::size_t row = nodes_[made].row * side_;
  for (std::size_t k = first; k < path_.size(); ++k) {
    Node& member = nodes_[path_[k]];
    member.parent = made;
    const std::size_t own = member.row * side_;
    count_steps(side_);
    for (std::size_t h = 0; h < side_; ++h) {
      const Worth gain = worths_[own + h] - member.worth;
      if (k == first || worths_[row + h] < gain) {
        worths_[row + h] = gain;
        modifiers_[row + h] = modifiers_[own + h];
      }
    }
  }
  for (std::size_t& top : tops_) {
    if (nodes_[top].parent == made) top = made;
  }
  path_.resize(first);
  path_.push_back(made);
  state_[made] = on_path;
}

// From the last contraction to the first: the arc into a cycle takes the place of the one into the word where it ends.
void SpanningTree::expand(Heads& heads) {
  for (std::size_t made = nodes_.size(); made-- > side_;) {
    std::size_t member = nodes_[made].arc.modifier;
    while (nodes_[member].parent != made) member = nodes_[member].parent;
    nodes_[member].arc = nodes_[made].arc;
  }
  for (std::size_t m = 1; m < side_; ++m) heads[m] = nodes_[m].arc.head;
}

}  // namespace marginloom
