// Probabilities of the labels of a chain's tokens, and of runs of labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace marginloom {

class PathMarginals {
 public:
  using Labels = std::span<const std::uint16_t>;

  // Adds up exp(scale score) of all paths; false if there is no path. Before the other questions.
  [[nodiscard]] virtual bool compute(double scale) = 0;

  // The marginals of a token's labels; they sum to 1.
  virtual void write_token(std::size_t t, double* result) const = 0;
  [[nodiscard]] virtual double log_marginal(std::size_t t, std::size_t label) const = 0;

  // The log probability that each of the tokens from `first` on has one of the labels that are listed for it.
  [[nodiscard]] virtual double log_probability(std::size_t first, std::span<const Labels> labels) const = 0;

 protected:
  ~PathMarginals() = default;
};

}  // namespace marginloom
