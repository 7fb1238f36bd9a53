#include "tasks/parse/eisner.hpp"

namespace marginloom {

void FullSpans::resize(std::size_t side) {
  side_ = side;
  by_head_.resize(side * side);
  by_end_.resize(side * side);
  splits_.resize(side * side);
}

double Eisner::best_tree(const ArcScores& scores, bool one_root, Heads& heads) {
  const std::size_t length = scores.length();
  heads.assign(length + 1, 0);
  if (length == 0) return 0;
  spans_.fill(scores, one_root ? 1 : 0);
  const FullSpans& full = spans_.full();
  if (!one_root) {
    follow(0, length, heads);
    return full.score(0, length);
  }
  Split best;
  for (std::size_t r = 1; r <= length; ++r) {
    const double sum = full.score(r, 1) + full.score(r, length) + scores.at(0, r);
    if (sum > best.score || best.place == 0) best = {sum, r};
  }
  follow(best.place, 1, heads);
  follow(best.place, length, heads);
  return best.score;
}

void Eisner::follow(std::size_t head, std::size_t end, Heads& heads) {
  pending_.assign(1, {head, end});
  while (!pending_.empty()) {
    const auto [h, e] = pending_.back();
    pending_.pop_back();
    if (h == e) continue;
    const std::size_t m = spans_.full().split(h, e);
    heads[m] = static_cast<Head>(h);
    const std::size_t i = std::min(h, m);
    const std::size_t j = std::max(h, m);
    const std::size_t r = spans_.open_split(i, j);
    pending_.push_back({m, e});
    pending_.push_back({i, r});
    pending_.push_back({j, r + 1});
  }
}

}  // namespace marginloom
