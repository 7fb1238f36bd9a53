#include "tasks/relations/branch_and_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/interruption.hpp"
#include "tasks/relations/type_graph.hpp"

namespace marginloom {
namespace {

constexpr double lowest = -std::numeric_limits<double>::infinity();
constexpr int most_sweeps = 50;       // of max-sum diffusion
constexpr double least_share = 1e-2;  // of the gap that a sweep must close for another one

// One connected component: its spans numbered from 0, with scores that diffusion moves about.
class Component {
 public:
  void start(std::size_t types) {
    types_ = types;
    spans_.clear();
    edges_.clear();
    terms_.clear();
    own_.clear();
  }

  void add_span(std::size_t span, const TypeGraph& graph) {
    spans_.push_back(span);
    const auto row = graph.own.begin() + static_cast<std::ptrdiff_t>(span * types_);
    own_.insert(own_.end(), row, row + static_cast<std::ptrdiff_t>(types_));
  }

  void add_edge(std::size_t first, std::size_t second, const double* terms) {
    edges_.push_back({first, second, terms_.size()});
    terms_.insert(terms_.end(), terms, terms + types_ * types_);
  }

  [[nodiscard]] std::span<const std::size_t> spans() const { return spans_; }

  // The best types of its spans, and a bound; `nodes` counts those visited up to the limit.
  struct Found {
    double bound;
    bool complete;
  };
  Found solve(std::size_t limit, std::size_t& nodes) {
    if (spans_.size() == 1) return solve_one();
    if (spans_.size() == 2) return solve_two();
    return solve_many(limit, nodes);
  }
  [[nodiscard]] std::size_t best(std::size_t a) const { return best_[a]; }

 private:
  struct Edge {
    std::size_t first;
    std::size_t second;
    std::size_t table;
  };
  // An edge as one of its ends sees it.
  struct End {
    std::size_t other;
    std::size_t edge;
    bool is_first;  // whether this end is the edge's first
  };

  [[nodiscard]] std::span<const double> own(std::size_t a) const { return std::span(own_).subspan(a * types_, types_); }
  [[nodiscard]] std::span<const End> ends(std::size_t a) const {
    return std::span(ends_).subspan(first_end_[a], first_end_[a + 1] - first_end_[a]);
  }
  [[nodiscard]] double term(const End& end, std::size_t here, std::size_t there) const {
    return terms_[edges_[end.edge].table + (end.is_first ? here * types_ + there : there * types_ + here)];
  }

  Found solve_one() {
    best_.assign(1, static_cast<std::size_t>(std::ranges::max_element(own_) - own_.begin()));
    return {own_[best_[0]], true};
  }

  Found solve_two() {
    best_.assign(2, 0);
    double highest = lowest;
    for (std::size_t s = 0; s < types_; ++s) {
      for (std::size_t t = 0; t < types_; ++t) {
        const double score = own_[s] + own_[types_ + t] + terms_[s * types_ + t];
        if (!(score > highest)) continue;
        highest = score;
        best_ = {s, t};
      }
    }
    return {highest, true};
  }

  Found solve_many(std::size_t limit, std::size_t& nodes) {
    link();
    score_of_best_ = lowest;
    best_.assign(spans_.size(), 0);
    tolerance_ = 0;
    double bound = std::numeric_limits<double>::infinity();
    for (int sweep = 0; sweep < most_sweeps; ++sweep) {
      count_steps(4 * terms_.size());
      if (sweep > 0) diffuse();
      const double before = bound;
      bound = std::min(bound, sum_of_maxima());
      if (tolerance_ == 0) tolerance_ = 1e-10 * (1 + std::abs(bound) + largest_own());
      improve_best();
      const double gap = bound - score_of_best_;
      if (gap <= tolerance_) return {score_of_best_, true};
      if (sweep > 1 && before - bound < least_share * gap) break;
    }
    return search(limit, nodes);
  }

  // Finds out which edges every span has, and the order in which the search assigns spans.
  void link() {
    first_end_.assign(spans_.size() + 1, 0);
    for (const Edge& edge : edges_) {
      ++first_end_[edge.first + 1];
      ++first_end_[edge.second + 1];
    }
    std::partial_sum(first_end_.begin(), first_end_.end(), first_end_.begin());
    ends_.resize(2 * edges_.size());
    filled_.assign(first_end_.begin(), first_end_.end() - 1);
    for (std::size_t e = 0; e < edges_.size(); ++e) {
      ends_[filled_[edges_[e].first]++] = {edges_[e].second, e, true};
      ends_[filled_[edges_[e].second]++] = {edges_[e].first, e, false};
    }
  }

  [[nodiscard]] double largest_own() const {
    double largest = 0;
    for (const double score : own_) largest = std::max(largest, std::abs(score));
    return largest;
  }

  [[nodiscard]] double edge_maximum(std::size_t edge) const {
    const auto first = terms_.begin() + static_cast<std::ptrdiff_t>(edges_[edge].table);
    return *std::max_element(first, first + static_cast<std::ptrdiff_t>(types_ * types_));
  }

  [[nodiscard]] double sum_of_maxima() const {
    double sum = 0;
    for (std::size_t a = 0; a < spans_.size(); ++a) sum += *std::ranges::max_element(own(a));
    for (std::size_t e = 0; e < edges_.size(); ++e) sum += edge_maximum(e);
    return sum;
  }

  // For every span and type, makes its own score and the best of each of its edges equal, without changing their sum.
  void diffuse() {
    for (std::size_t a = 0; a < spans_.size(); ++a) {
      const auto around = ends(a);
      reach_.resize(around.size());
      for (std::size_t t = 0; t < types_; ++t) {
        double sum = own_[a * types_ + t];
        for (std::size_t k = 0; k < around.size(); ++k) {
          double best = lowest;
          for (std::size_t u = 0; u < types_; ++u) best = std::max(best, term(around[k], t, u));
          reach_[k] = best;
          sum += best;
        }
        const double mean = sum / static_cast<double>(around.size() + 1);
        own_[a * types_ + t] = mean;
        for (std::size_t k = 0; k < around.size(); ++k) {
          const Edge& edge = edges_[around[k].edge];
          const double step = mean - reach_[k];
          for (std::size_t u = 0; u < types_; ++u) {
            terms_[edge.table + (around[k].is_first ? t * types_ + u : u * types_ + t)] += step;
          }
        }
      }
    }
  }

  [[nodiscard]] double score(std::span<const std::size_t> types) const {
    double sum = 0;
    for (std::size_t a = 0; a < types.size(); ++a) sum += own_[a * types_ + types[a]];
    for (const Edge& edge : edges_) sum += terms_[edge.table + types[edge.first] * types_ + types[edge.second]];
    return sum;
  }

  // Assigns span after span its best type given those before, then each again given all others while that helps.
  void improve_best() {
    modes_.resize(spans_.size());
    for (int round = 0; round < 10; ++round) {
      bool moved = round == 0;
      for (std::size_t a = 0; a < spans_.size(); ++a) {
        std::size_t best = round == 0 ? 0 : modes_[a];
        double highest = lowest;
        for (std::size_t k = 0; k < types_; ++k) {
          const std::size_t t =
              round == 0 ? k : (modes_[a] + k) % types_;  // stays where it is unless another is better
          double value = own_[a * types_ + t];
          for (const End& end : ends(a)) {
            if (round > 0 || end.other < a) value += term(end, t, modes_[end.other]);
          }
          if (value > highest) {
            highest = value;
            best = t;
          }
        }
        moved |= round > 0 && best != modes_[a];
        modes_[a] = best;
      }
      if (!moved) break;
    }
    const double found = score(modes_);
    if (found > score_of_best_ + tolerance_) {
      score_of_best_ = found;
      best_ = modes_;
    }
  }

  Found search(std::size_t limit, std::size_t& nodes) {
    choose_order();
    const std::size_t count = spans_.size();
    given_.resize((count + 1) * count * types_);
    std::ranges::copy(own_, given_.begin());
    open_.assign(count + 1, 0.0);
    for (std::size_t e = 0; e < edges_.size(); ++e) {
      // Of edges both of whose ends are still free at a depth.
      const std::size_t first = std::min(depth_of_[edges_[e].first], depth_of_[edges_[e].second]);
      const double maximum = edge_maximum(e);
      for (std::size_t depth = 0; depth <= first; ++depth) open_[depth] += maximum;
    }
    choice_.assign(count, 0);
    left_over_ = lowest;
    limit_ = limit;
    nodes_ = &nodes;
    descend(0, 0.0);
    const bool complete = left_over_ == lowest;
    return {std::max(score_of_best_, left_over_), complete};
  }

  // Spans with many edges to those before come first.
  void choose_order() {
    const std::size_t count = spans_.size();
    order_.clear();
    depth_of_.assign(count, count);
    linked_.assign(count, 0);
    for (std::size_t depth = 0; depth < count; ++depth) {
      std::size_t next = count;
      for (std::size_t a = 0; a < count; ++a) {
        if (depth_of_[a] != count) continue;
        if (next == count || linked_[a] > linked_[next] ||
            (linked_[a] == linked_[next] && ends(a).size() > ends(next).size())) {
          next = a;
        }
      }
      order_.push_back(next);
      depth_of_[next] = depth;
      for (const End& end : ends(next)) ++linked_[end.other];
    }
  }

  // What an assignment of the first spans can reach at most: their score, the best of each free span given these, and
  // the best of the edges between free ones.
  [[nodiscard]] double bound_at(std::size_t depth, double assigned) const {
    const double* given = given_.data() + depth * spans_.size() * types_;
    double sum = assigned + open_[depth];
    for (std::size_t later = depth; later < order_.size(); ++later) {
      const double* row = given + order_[later] * types_;
      sum += *std::max_element(row, row + types_);
    }
    return sum;
  }

  void descend(std::size_t depth, double assigned) {
    if (depth == order_.size()) {
      if (assigned > score_of_best_ + tolerance_) {
        score_of_best_ = assigned;
        best_ = choice_;
      }
      return;
    }
    count_steps(spans_.size() * types_);
    const std::size_t a = order_[depth];
    const std::size_t width = spans_.size() * types_;
    const double* given = given_.data() + depth * width;
    double* next = given_.data() + (depth + 1) * width;
    std::uint64_t tried[4] = {};  // types that were taken, as bits
    for (std::size_t turn = 0; turn < types_; ++turn) {
      std::size_t t = types_;
      for (std::size_t u = 0; u < types_; ++u) {
        const bool is_new = (tried[u / 64] >> (u % 64) & 1u) == 0;
        if (is_new && (t == types_ || given[a * types_ + u] > given[a * types_ + t])) t = u;
      }
      tried[t / 64] |= std::uint64_t{1} << (t % 64);
      const double score = assigned + given[a * types_ + t];
      std::copy(given, given + width, next);
      for (const End& end : ends(a)) {
        if (depth_of_[end.other] <= depth) continue;
        for (std::size_t u = 0; u < types_; ++u) next[end.other * types_ + u] += term(end, t, u);
      }
      const double bound = bound_at(depth + 1, score);
      if (bound <= score_of_best_ + tolerance_) continue;
      if (limit_ != 0 && *nodes_ >= limit_) {
        left_over_ = std::max(left_over_, bound);
        continue;
      }
      ++*nodes_;
      choice_[a] = t;
      descend(depth + 1, score);
    }
  }

  std::size_t types_ = 0;
  std::vector<std::size_t> spans_;  // their numbers in the sentence
  std::vector<double> own_;
  std::vector<Edge> edges_;
  std::vector<double> terms_;
  std::vector<std::size_t> first_end_, filled_;
  std::vector<End> ends_;
  std::vector<double> reach_;
  std::vector<std::size_t> modes_;
  std::vector<std::size_t> best_;
  double score_of_best_ = lowest;
  double tolerance_ = 0;
  std::vector<std::size_t> order_, depth_of_, linked_, choice_;
  std::vector<double> given_;  // per depth: scores of types given those that were chosen
  std::vector<double> open_;   // per depth: what edges between free spans can add
  double left_over_ = lowest;  // the highest bound of what was not searched
  std::size_t limit_ = 0;
  std::size_t* nodes_ = nullptr;
};

struct Buffers final : Scratch {
  TypeGraph graph;
  Component component;
  std::vector<std::uint32_t> group;       // of every span: the first span of its component
  std::vector<std::size_t> place;         // in its component
  std::vector<std::uint32_t> first_edge;  // edges by component, linked
  std::vector<std::uint32_t> next_edge;
  std::vector<std::uint32_t> next_member;  // spans by component, linked
  std::vector<std::uint32_t> last_member;
};

constexpr std::uint32_t none = 0xFFFFFFFF;

std::uint32_t root_of(std::vector<std::uint32_t>& group, std::uint32_t a) {
  while (group[a] != a) a = group[a] = group[group[a]];
  return a;
}

// Puts spans that edges connect into one group each, named by its first span.
void group_spans(Buffers& buffers, std::size_t count) {
  auto& group = buffers.group;
  group.resize(count);
  std::iota(group.begin(), group.end(), 0u);
  for (const TypeGraph::Edge& edge : buffers.graph.edges) {
    const std::uint32_t first = root_of(group, edge.first);
    const std::uint32_t second = root_of(group, edge.second);
    group[std::max(first, second)] = std::min(first, second);
  }
  buffers.next_member.assign(count, none);
  buffers.last_member.resize(count);
  for (std::uint32_t a = 0; a < count; ++a) {
    const std::uint32_t root = root_of(group, a);
    if (root != a) buffers.next_member[buffers.last_member[root]] = a;
    buffers.last_member[root] = a;
  }
  buffers.first_edge.assign(count, none);
  buffers.next_edge.resize(buffers.graph.edges.size());
  for (std::size_t e = buffers.graph.edges.size(); e-- > 0;) {
    const std::uint32_t root = root_of(group, buffers.graph.edges[e].first);
    buffers.next_edge[e] = std::exchange(buffers.first_edge[root], static_cast<std::uint32_t>(e));
  }
}

}  // namespace

std::unique_ptr<Scratch> BranchAndBound::make_scratch() const {
  return std::make_unique<Buffers>();
}

JointOptimum BranchAndBound::solve(const TypeTable& table, const JointScores& scores, Scratch& scratch,
                                   JointOutput& output) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  const TypeGraph& graph = buffers.graph;
  buffers.graph.build(table, scores);
  group_spans(buffers, scores.spans);
  output.types.resize(scores.spans);
  buffers.place.resize(scores.spans);
  JointOptimum found;
  found.bound = graph.constant;
  for (std::uint32_t root = 0; root < scores.spans; ++root) {
    if (buffers.group[root] != root) continue;
    Component& component = buffers.component;
    component.start(table.types());
    std::size_t size = 0;
    for (std::uint32_t a = root; a != none; a = buffers.next_member[a]) {
      buffers.place[a] = size++;
      component.add_span(a, graph);
    }
    for (std::uint32_t e = buffers.first_edge[root]; e != none; e = buffers.next_edge[e]) {
      const TypeGraph::Edge& edge = graph.edges[e];
      component.add_edge(buffers.place[edge.first], buffers.place[edge.second], graph.terms.data() + edge.table);
    }
    const auto [bound, complete] = component.solve(node_limit_, found.nodes);
    found.bound += bound;
    found.complete &= complete;
    for (std::size_t k = 0; k < size; ++k) {
      output.types[component.spans()[k]] = static_cast<std::uint8_t>(component.best(k));
    }
  }
  take_best_labels(table, scores, output);
  found.score = score_of(scores, output);
  found.bound = found.complete ? found.score : std::max(found.bound, found.score);
  return found;
}

}  // namespace marginloom
