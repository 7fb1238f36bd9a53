#include "tasks/parse/projective_marginals.hpp"

namespace marginloom {

// full(head, end) is open(head, r) and full(r, end), for r from beside the head to the end.
void ProjectiveMarginals::divide_full(const FullSpans& full, const double* open, std::size_t head, std::size_t end) {
  const double* const rests = full.of_end(end);
  const std::size_t first = head < end ? head + 1 : end;
  const std::size_t count = head < end ? end - head : head - end;
  divide(
      full_at(head, end), count, [&](std::size_t k) { return open[first + k] + rests[first + k]; },
      [&](std::size_t k, double probability) {
        open_at(head, first + k) += probability;
        full_at(first + k, end) += probability;
      });
}

// What stands between two words is full(i, r) and full(j, r + 1), for i <= r < j.
void ProjectiveMarginals::divide_splits(const FullSpans& full, double amount, std::size_t i, std::size_t j) {
  const double* const left = full.of_head(i);
  const double* const right = full.of_head(j) + 1;
  divide(
      amount, j - i, [&](std::size_t k) { return left[i + k] + right[i + k]; },
      [&](std::size_t k, double probability) {
        full_at(i, i + k) += probability;
        full_at(j, i + k + 1) += probability;
      });
}

double ProjectiveMarginals::first_order(const ArcScores& scores, bool one_root, ArcScores& marginals) {
  const std::size_t length = scores.length();
  marginals.resize(length);
  if (length == 0) return 0;
  const std::size_t first = one_root ? 1 : 0;
  spans_.fill(scores, first);
  const FullSpans& full = spans_.full();
  const double sum = start(full, one_root, length, [&](std::size_t r) { return scores.at(0, r); }, marginals);
  for (std::size_t width = length + 1 - first; width-- > 1;) {
    count_steps(2 * AllWays::cost * width * (length + 1 - width));
    for (std::size_t i = first; i + width <= length; ++i) {
      const std::size_t j = i + width;
      divide_full(full, spans_.open_of(i), i, j);
      marginals.at(i, j) += open_at(i, j);
      double between = open_at(i, j);
      if (i > 0) {
        divide_full(full, spans_.open_of(j), j, i);
        marginals.at(j, i) += open_at(j, i);
        between += open_at(j, i);
      }
      divide_splits(full, between, i, j);
    }
  }
  return sum;
}

}  // namespace marginloom
