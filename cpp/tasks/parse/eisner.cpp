#include "tasks/parse/eisner.hpp"

#include "core/interruption.hpp"

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
  span_words(scores, one_root ? 1 : 0);
  if (!one_root) {
    follow(0, length, heads);
    return full_.score(0, length);
  }
  Split best;
  for (std::size_t r = 1; r <= length; ++r) {
    const double sum = full_.score(r, 1) + full_.score(r, length) + scores.at(0, r);
    if (sum > best.score || best.place == 0) best = {sum, r};
  }
  follow(best.place, 1, heads);
  follow(best.place, length, heads);
  return best.score;
}

void Eisner::span_words(const ArcScores& scores, std::size_t first) {
  side_ = scores.length() + 1;
  full_.resize(side_);
  open_.resize(side_ * side_);
  open_splits_.resize(side_ * side_);
  for (std::size_t i = first; i < side_; ++i) full_.set(i, i, 0, i);
  for (std::size_t width = 1; first + width < side_; ++width) {
    count_steps(3 * width * (side_ - width));
    for (std::size_t i = first; i + width < side_; ++i) {
      const std::size_t j = i + width;
      const Split inner = best_split(full_.of_head(i), full_.of_head(j) + 1, i, j);
      open_splits_[i * side_ + j] = static_cast<std::uint16_t>(inner.place);
      open_[i * side_ + j] = inner.score + scores.at(i, j);
      const Split right = best_split(open_.data() + i * side_, full_.of_end(j), i + 1, j + 1);
      full_.set(i, j, right.score, right.place);
      if (i == 0) continue;  // the root has no head
      open_[j * side_ + i] = inner.score + scores.at(j, i);
      const Split left = best_split(open_.data() + j * side_, full_.of_end(i), i, j);
      full_.set(j, i, left.score, left.place);
    }
  }
}

void Eisner::follow(std::size_t head, std::size_t end, Heads& heads) {
  pending_.assign(1, {head, end});
  while (!pending_.empty()) {
    const auto [h, e] = pending_.back();
    pending_.pop_back();
    if (h == e) continue;
    const std::size_t m = full_.split(h, e);
    heads[m] = static_cast<Head>(h);
    const std::size_t i = std::min(h, m);
    const std::size_t j = std::max(h, m);
    const std::size_t r = open_splits_[i * side_ + j];
    pending_.push_back({m, e});
    pending_.push_back({i, r});
    pending_.push_back({j, r + 1});
  }
}

}  // namespace marginloom
