#include "tasks/relations/type_graph.hpp"

#include <algorithm>

#include "core/interruption.hpp"

namespace marginloom {

void TypeGraph::build(const TypeTable& table, const JointScores& scores) {
  types = table.types();
  const std::size_t cells = types * types;
  own.resize(scores.spans * types);
  for (std::size_t a = 0; a < scores.spans; ++a) {
    for (std::size_t t = 0; t < types; ++t) own[a * types + t] = scores.type(a, t);
  }
  edges.clear();
  terms.clear();
  constant = 0;
  best_.resize(cells);
  gains_.resize(cells);
  for (std::size_t a = 0; a < scores.spans; ++a) {
    count_steps((scores.spans - a) * (table.labels() + cells));
    for (std::size_t b = a + 1; b < scores.spans; ++b) {
      const double* forward = scores.pair(a, b);
      const double* backward = scores.pair(b, a);
      constant += forward[0] + backward[0];
      std::ranges::fill(gains_, 0.0);
      const bool some = add_gains(table, forward, false, gains_.data());
      const bool more = add_gains(table, backward, true, gains_.data());
      if ((!some && !more) || dissolve(gains_.data(), a, b)) continue;
      edges.push_back({static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b), terms.size()});
      terms.insert(terms.end(), gains_.begin(), gains_.end());
    }
  }
}

bool TypeGraph::add_gains(const TypeTable& table, const double* pair, bool swapped, double* gains) {
  bool found = false;
  for (std::size_t label = 1; label < table.labels(); ++label) {
    const double gain = pair[label] - pair[0];
    if (!(gain > 0)) continue;
    if (!found) std::ranges::fill(best_, 0.0);
    found = true;
    for (const std::uint16_t cell : table.pairs_of(label)) best_[cell] = std::max(best_[cell], gain);
  }
  if (!found) return false;
  for (std::size_t s = 0; s < types; ++s) {
    for (std::size_t t = 0; t < types; ++t) gains[s * types + t] += best_[swapped ? t * types + s : s * types + t];
  }
  return true;
}

bool TypeGraph::dissolve(const double* gains, std::size_t a, std::size_t b) {
  for (std::size_t s = 1; s < types; ++s) {
    for (std::size_t t = 1; t < types; ++t) {
      if (gains[s * types + t] - gains[s * types] != gains[t] - gains[0]) return false;
    }
  }
  for (std::size_t s = 0; s < types; ++s) own[a * types + s] += gains[s * types] - gains[0];
  for (std::size_t t = 0; t < types; ++t) own[b * types + t] += gains[t] - gains[0];
  constant += gains[0];
  return true;
}

}  // namespace marginloom
