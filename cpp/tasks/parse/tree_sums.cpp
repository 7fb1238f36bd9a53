#include "tasks/parse/tree_sums.hpp"

#include <algorithm>
#include <numeric>

#include "core/interruption.hpp"
#include "core/log_sum.hpp"

namespace marginloom {

// Over the heads of a word that are left.
double TreeSums::sum_heads(std::size_t word, bool with_root) const {
  double sum = with_root ? at(0, word) : log_of_zero;
  for (std::size_t head = 1; head < side_; ++head) {
    if (is_left_[head] && head != word) sum = log_sum(sum, at(head, word));
  }
  return sum;
}

// Calls function(head, modifier) for the arcs among the words that are left and from the root, always in one order.
template <class Function>
void TreeSums::visit_pairs(Function function) {
  for (std::size_t m = 1; m < side_; ++m) {
    if (!is_left_[m]) continue;
    function(0, m);
    for (std::size_t h = 1; h < side_; ++h) {
      if (is_left_[h] && h != m) function(h, m);
    }
  }
}

// False if there is no tree.
bool TreeSums::eliminate_all(bool one_root) {
  const std::size_t count = side_ - 1;
  before_.clear();
  sums_.resize(count);
  is_left_.assign(side_, true);
  for (std::size_t step = 0; step < count; ++step) {
    count_steps(16 * (count - step) * (count - step));
    const bool with_root = !one_root || step + 1 == count;
    // A word that only the root can head must wait until it is the last.
    std::size_t chosen = step;
    while (chosen < count && (sums_[step] = sum_heads(order_[chosen], with_root)) == log_of_zero) ++chosen;
    if (chosen == count) return false;
    std::swap(order_[step], order_[chosen]);
    const std::size_t k = order_[step];
    is_left_[k] = false;
    visit_pairs([&](std::size_t h, std::size_t m) {
      before_.push_back(at(h, m));
      at(h, m) = log_sum(at(h, m), at(h, k) + at(k, m) - sums_[step]);
    });
  }
  return true;
}

// From the slopes by the weights after an elimination to those by the weights before.
void TreeSums::take_back(std::size_t step, bool one_root) {
  const std::size_t count = side_ - 1;
  const std::size_t k = order_[step];
  const auto slope = [&](std::size_t h, std::size_t m) -> double& { return slopes_[h * side_ + m]; };
  const std::size_t left = count - step - 1;
  count_steps(16 * left * left);
  const std::size_t first = before_.size() - left * left;  // from the root and the others, to each
  const double* before = before_.data() + first;
  double of_sum = 1;  // the sum over trees is proportional to D_k, and the other weights divide by it
  visit_pairs([&](std::size_t h, std::size_t m) {
    const double after = at(h, m);
    at(h, m) = *before++;
    const double part = slope(h, m) * share(at(h, k) + at(k, m) - sums_[step], after);
    slope(h, m) *= share(at(h, m), after);
    slope(h, k) += part;
    slope(k, m) += part;
    of_sum -= part;
  });
  before_.resize(first);
  if (!one_root || step + 1 == count) slope(0, k) += of_sum * share(at(0, k), sums_[step]);
  for (std::size_t h = 1; h < side_; ++h) {
    if (is_left_[h]) slope(h, k) += of_sum * share(at(h, k), sums_[step]);
  }
  is_left_[k] = true;
}

double TreeSums::marginals(const ArcScores& scores, bool one_root, ArcScores& result) {
  const std::size_t length = scores.length();
  side_ = length + 1;
  result.resize(length);
  weights_.assign(scores.row(0), scores.row(0) + side_ * side_);
  slopes_.assign(side_ * side_, 0.0);
  order_.resize(length);
  std::iota(order_.begin(), order_.end(), std::size_t{1});
  if (!eliminate_all(one_root)) return log_of_zero;
  for (std::size_t step = length; step-- > 0;) take_back(step, one_root);
  for (std::size_t h = 0; h <= length; ++h) {
    for (std::size_t m = 1; m <= length; ++m) result.at(h, m) = h == m ? 0 : std::max(slopes_[h * side_ + m], 0.0);
  }
  return std::accumulate(sums_.begin(), sums_.end(), 0.0);
}

}  // namespace marginloom
