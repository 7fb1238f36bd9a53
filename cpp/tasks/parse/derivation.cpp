#include "tasks/parse/derivation.hpp"

#include <algorithm>

namespace marginloom {

void derive(std::span<const Head> heads, std::span<const std::uint16_t> labels, Derivation& derivation) {
  const std::size_t length = heads.size() - 1;
  const auto label = [&](std::size_t word) { return labels.empty() ? std::uint16_t{0} : labels[word]; };
  derivation.clear();
  std::vector<Head> stack;
  std::vector<std::size_t> last(heads.size());  // modifier to the right of a word
  for (std::size_t m = 1; m <= length; ++m) {
    if (heads[m] != 0 && heads[m] < m) last[heads[m]] = m;
  }
  for (std::size_t next = 1; next <= length;) {
    stack.push_back(static_cast<Head>(next++));
    derivation.push_back({Action::shift, 0});
    while (stack.size() > 1) {
      const std::size_t s0 = stack.back();
      const std::size_t s1 = stack[stack.size() - 2];
      if (heads[s1] == s0) {
        derivation.push_back({Action::left, label(s1)});
        stack[stack.size() - 2] = static_cast<Head>(s0);
      } else if (heads[s0] == s1 && last[s0] < next) {
        derivation.push_back({Action::right, label(s0)});
      } else {
        break;
      }
      stack.pop_back();
    }
  }
}

void PartialTree::begin(std::size_t words) {
  heads.assign(words + 1, unknown);
  heads[0] = 0;
  labels.assign(words + 1, 0);
  stack.clear();
  next = 1;
}

bool PartialTree::take(const DerivationStep& step) {
  if (step.action == Action::shift) {
    if (next == heads.size()) return false;
    stack.push_back(static_cast<Head>(next++));
    return true;
  }
  if (stack.size() < 2) return false;
  const Head upper = stack.back();
  const Head lower = stack[stack.size() - 2];
  stack.pop_back();
  if (step.action == Action::left) stack.back() = upper;
  const Head modifier = step.action == Action::left ? lower : upper;
  heads[modifier] = step.action == Action::left ? upper : lower;
  labels[modifier] = step.label;
  return true;
}

void PartialTree::end(std::uint16_t root_label) {
  if (stack.empty()) return;
  heads[stack.back()] = 0;
  labels[stack.back()] = root_label;
}

std::size_t PartialTree::loss(std::span<const Head> gold, std::span<const std::uint16_t> gold_labels) const {
  std::size_t count = 0;
  for (std::size_t m = 1; m < heads.size(); ++m) {
    if (heads[m] == unknown) {
      count += gold[m] != 0 && heads[gold[m]] != unknown ? 1 : 0;
    } else {
      count += heads[m] != gold[m] || (!gold_labels.empty() && labels[m] != gold_labels[m]) ? 1 : 0;
    }
  }
  return count;
}

}  // namespace marginloom
