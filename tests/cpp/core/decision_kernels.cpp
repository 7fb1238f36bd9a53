// Steps on eight decisions at once: what the formula says, to the bit in every version.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/kernels.hpp"
#include "problems.hpp"
#include "test.hpp"

using namespace marginloom;

namespace {

constexpr std::size_t count = row_alignment;

struct Decisions {
  std::vector<double> missing, spurious, scores, limits, duals;
  std::uint8_t right;
  DecisionTerms terms;

  explicit Decisions(Random& random) {
    const auto some = [&] { return problems::random_vector(count, random, problems::uniform); };
    missing = some();
    spurious = some();
    scores = some();
    limits = some();
    duals = some();
    right = static_cast<std::uint8_t>(random.below(256));
    const bool bounded = random.below(2) == 0;
    terms = {bounded ? 0.5 : std::numeric_limits<double>::infinity(), bounded ? 0.0 : 0.25, 0.7};
    for (std::size_t c = 0; c < count; ++c) {
      missing[c] = std::abs(missing[c]);
      spurious[c] = std::abs(spurious[c]);
      limits[c] = random.below(3) == 0 ? -1 : std::abs(limits[c]) / 4;
      duals[c] = random.below(3) == 0 ? 0 : std::clamp(std::abs(duals[c]), 0.0, terms.budget);
      if (!yes(c)) duals[c] = -duals[c];
    }
  }
  [[nodiscard]] bool yes(std::size_t c) const { return ((right >> c) & 1) != 0; }
};

struct Steps {
  std::vector<double> duals, steps, largest, slacks;
  bool any = false;
  bool settled = false;
};

Steps run(const Kernels& kernels, const Decisions& in) {
  Steps out{in.duals, std::vector<double>(count), std::vector<double>(count, 0.1), std::vector<double>(count)};
  const DecisionCosts costs{in.missing.data(), in.spurious.data()};
  const DecisionMoves moves = kernels.step_decisions(in.terms, costs, in.scores.data(), in.right, in.limits.data(),
                                                     out.duals.data(), out.steps.data(), out.largest.data());
  out.any = moves.any;
  out.settled = moves.settled;
  kernels.decision_slacks(costs, in.scores.data(), in.right, out.slacks.data());
  return out;
}

Steps run_naively(const Decisions& in) {
  Steps out{in.duals, {}, std::vector<double>(count, 0.1), {}, false, true};
  for (std::size_t c = 0; c < count; ++c) {
    const double target = in.yes(c) ? in.missing[c] : -in.spurious[c];
    const double gradient = target - in.scores[c] - in.terms.ridge * in.duals[c];
    const double lowest = in.yes(c) ? 0 : -in.terms.budget;
    const double highest = in.yes(c) ? in.terms.budget : 0;
    out.duals[c] = std::clamp(in.duals[c] + gradient * in.terms.inverse_curvature, lowest, highest);
    out.steps.push_back(out.duals[c] - in.duals[c]);
    const bool moved = out.steps[c] != 0;
    if (moved) out.largest[c] = std::max(out.largest[c], std::abs(gradient));
    out.any |= moved;
    out.settled &= !moved && std::abs(gradient) > in.limits[c];
    const double slack = in.yes(c) ? in.missing[c] - in.scores[c] : in.spurious[c] + in.scores[c];
    out.slacks.push_back(std::max(slack, 0.0));
  }
  return out;
}

}  // namespace

TEST("decision kernels: every version does what naive loops do") {
  const std::string before = kernels().name;
  Random random(1);
  std::size_t settled = 0;
  for (int round = 0; round < 2000; ++round) {
    const Decisions in(random);
    const Steps expected = run_naively(in);
    settled += expected.settled ? 1 : 0;
    for (const std::string_view name : available_kernels()) {
      CHECK(select_kernels(name));
      const Steps found = run(kernels(), in);
      CHECK(found.duals == expected.duals);
      CHECK(found.steps == expected.steps);
      CHECK(found.largest == expected.largest);
      CHECK(found.slacks == expected.slacks);
      CHECK(found.any == expected.any);
      CHECK(found.settled == expected.settled);
    }
  }
  CHECK(settled < 2000);
  (void)select_kernels(before);
}

TEST("line kernels: sums of eight columns agree between versions, and with naive loops up to rounding") {
  const std::string before = kernels().name;
  Random random(2);
  for (std::size_t size = 0; size < 23; ++size) {
    const auto rows = problems::random_vector(30 * count, random, problems::uniform);
    std::vector<double> values;
    std::vector<float> singles;
    std::vector<std::uint32_t> row_of;
    std::vector<double> expected(count, 0.5);
    for (std::size_t j = 0; j < size; ++j) {
      singles.push_back(static_cast<float>(problems::uniform(random)));
      values.push_back(singles[j]);
      row_of.push_back(static_cast<std::uint32_t>(random.below(30)));
      for (std::size_t c = 0; c < count; ++c) expected[c] += values[j] * rows[row_of[j] * count + c];
    }
    std::vector<double> first;
    for (const std::string_view name : available_kernels()) {
      CHECK(select_kernels(name));
      std::vector<double> found(count, 0.5), same(count, 0.5);
      kernels().add_scaled_lines(rows.data(), row_of.data(), singles.data(), size, found.data());
      kernels().add_scaled_lines_64(rows.data(), row_of.data(), values.data(), size, same.data());
      if (first.empty()) first = found;
      CHECK(problems::same_bits(found, first));
      CHECK(problems::same_bits(same, first));
      for (std::size_t c = 0; c < count; ++c) CHECK(std::abs(found[c] - expected[c]) < 1e-12);
    }
  }
  (void)select_kernels(before);
}
