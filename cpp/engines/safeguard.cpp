#include "engines/safeguard.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/kernels.hpp"

namespace marginloom {
namespace {

constexpr std::size_t most_movers = 255;  // what a byte holds

}  // namespace

Safeguard::Safeguard(BlockLearner& learner, std::size_t threads, std::size_t learners)
    : learner_(learner),
      learners_(static_cast<double>(learners)),
      point_(learner.task().size(), threads),
      factors_(most_movers + 1) {}

StepDamping Safeguard::damping() const {
  if (movers_.empty() || damping_ == 1) return {.most = damping_};
  return {damping_, movers_, factors_};
}

void Safeguard::begin(WeightView w, std::span<const std::size_t> examples, Random& random) {
  if (!std::exchange(known_, false)) dual_ = learner_.dual(kernels().squared_norm(w.data(), w.size()));
  point_.clear();
  learner_.blocks().hold(&point_);
  if (damping_ == 1 || learner_.task().implicit()) return;
  constexpr int passes_with_a_sample = 8;
  if (passes_until_sample_-- == 0) {
    sample_supports(examples, random);
    passes_until_sample_ = passes_with_a_sample;
  }
  if (sample_ == 0) return movers_.clear();  // blocks do without their rows: all weights count alike
  for (std::size_t count = 0; count <= most_movers; ++count) {
    const double others = (learners_ - 1) * static_cast<double>(count) / static_cast<double>(sample_);
    factors_[count] = 1 + (damping_ - 1) * std::min(others, 1.0);
  }
}

// So many blocks that a weight which counts in full does not exceed a byte.
void Safeguard::sample_supports(std::span<const std::size_t> examples, Random& random) {
  const std::size_t most = std::min<std::size_t>(1024, most_movers * static_cast<std::size_t>(learners_ - 1));
  movers_.assign(learner_.task().dimension(), 0);
  sample_ = 0;
  for (std::size_t taken = 0; taken < most && !examples.empty(); ++taken) {
    const Block& block = learner_.blocks()[examples[random.below(examples.size())]];
    if (!block.has_support()) continue;
    ++sample_;
    for (const WeightIndex k : block.support()) {
      if (movers_[k] < most_movers) ++movers_[k];
    }
  }
}

double Safeguard::check(double squared_norm, double expected, bool whole_pass, std::span<double> w) {
  constexpr double rounding = 1e-12;
  const double before = dual_;
  dual_ = learner_.dual(squared_norm);
  if (whole_pass) adapt(dual_ - before, expected);
  if (dual_ < before - rounding * std::abs(before)) squared_norm = go_back(before, w);
  learner_.blocks().hold(nullptr);
  known_ = true;
  return squared_norm;
}

void Safeguard::adapt(double gained, double expected) {
  constexpr double enough = 0.5;
  constexpr double good = 0.8;
  constexpr double rise = 1.5;
  constexpr double fall = 1.05;  // slowly: going back and forth between too much and just enough gains little
  if (gained < enough * expected) {
    damping_ = std::min(damping_ * rise, learners_);
  } else if (gained > good * expected) {
    damping_ = std::max(damping_ / fall, 1.0);
  }
}

// With t the share of the way that is kept, the dual is d(0) + b t - c t^2 / 2.
double Safeguard::go_back(double dual, std::span<double> w) {
  const double end = dual_;
  double squared_norm = move_to(0.5, w);
  const double half = learner_.dual(squared_norm);
  const double c = 4 * (2 * half - dual - end);
  const double b = end - dual + c / 2;
  const double share = c > 0 ? std::clamp(b / c, 0.0, 1.0) : 0.0;
  squared_norm = move_to(2 * share, w);
  dual_ = learner_.dual(squared_norm);
  return squared_norm;
}

// Moves the duals to that share of their way from the last check to where they are, or beyond. Returns |w|^2.
double Safeguard::move_to(double share, std::span<double> w) {
  Blocks& blocks = learner_.blocks();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!point_.has(i) || blocks[i].empty()) continue;
    const auto rows = blocks[i].rows();
    duals_.assign(rows.size(), 0.0);
    for (const KeyedDual& held : point_.of(i)) {
      duals_[static_cast<std::size_t>(blocks[i].find(held.key) - rows.data())] = held.dual;
    }
    for (std::size_t j = 0; j < rows.size(); ++j) {
      duals_[j] = std::max(duals_[j] + share * (rows[j].dual - duals_[j]), 0.0);
    }
    learner_.settle(i, duals_, {}, false);
  }
  learner_.write_weights(w);
  return kernels().squared_norm(w.data(), w.size());
}

}  // namespace marginloom
