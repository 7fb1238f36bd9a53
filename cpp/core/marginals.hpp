// Probabilities of outputs and of their parts.
//
// An output of an example makes one choice in each of its parts: the label of a token, the head and the label of a
// word, whether a label is in the set, the window. With inverse temperature `scale` and offsets b,
//
//   p(y) = exp(scale w.phi(x, y) + sum of b over the choices of y) / Z
//
// and the marginal of a choice is the sum of p over the outputs that make it. A task that has these computes them
// exactly, with the dynamic program of its search over other numbers. The work has two halves, as in ScoredTask: what
// knows the weights, once, and what knows the outputs, for as many temperatures as are wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "core/types.hpp"

namespace marginloom {

class Scratch;

using Choice = std::uint32_t;
// In an output that is left open there, and in gold outputs of what the task does not know.
inline constexpr Choice no_choice = std::numeric_limits<Choice>::max();

struct Tempering {
  double scale = 1;                 // positive
  std::span<const double> offsets;  // Marginals::offset_count() of them, or none: all 0
};

// What is wanted of an example, and where it goes. Outputs are rows of part_count() choices, one after the other.
struct MarginalQuery {
  std::span<const Choice> outputs;
  std::span<double> parts;   // log marginals of the choices of the outputs; NaN where there is no choice
  std::span<double> wholes;  // one per output: its log probability; NaN where there is a part without a choice
  std::span<double> table;   // marginals of all choices, part_count() rows of choice_count(), or empty
};

class Marginals {
 public:
  // Why there are none, with the options that the task has: a sentence; empty if there are.
  [[nodiscard]] virtual std::string why_no_marginals() const { return {}; }

  [[nodiscard]] virtual std::size_t part_count(std::size_t i) const = 0;
  // Of each part; choices that are forbidden have probability 0.
  [[nodiscard]] virtual std::size_t choice_count(std::size_t i) const = 0;
  // Offsets are those of choice 1 of the parts, where all examples have the same parts.
  [[nodiscard]] virtual std::size_t offset_count() const { return 0; }

  // The half that knows the weights; the scratch is what Task::make_scratch() gives.
  virtual void score_choices(std::size_t i, WeightView w, Scratch& scratch) const = 0;
  // The other half; example i must be the one scored last with this scratch.
  virtual void marginals(std::size_t i, const Tempering& tempering, const MarginalQuery& query,
                         Scratch& scratch) const = 0;

 protected:
  ~Marginals() = default;
};

}  // namespace marginloom
