// What a task offers whose candidates carry no stored difference: products of an input and columns of the weights, or
// windows of an image, are computed from the outputs when they are needed.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "core/types.hpp"
#include "core/weight_writer.hpp"

namespace marginloom {

class Scratch;

// Products d.d' of the differences of one example where they are all alike: `shared` of any two, and `excess` more of
// one with itself. The quadratic programme of such a block has a solution in closed form.
struct UniformProducts {
  double shared = 0;
  double excess = 0;
};

// With d_j = phi(gold) - phi(output j) of several outputs of one example.
class ImplicitDifferences {
 public:
  // values[j] = w.d_j
  virtual void gather(std::size_t i, std::span<const ByteView> outputs, WeightView w,
                      std::span<double> values) const = 0;
  // w += sum_j steps[j] d_j
  virtual void scatter(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
                       const WeightWriter& w) const = 0;
  // result[j] = d.d_j for the difference d of one output; and what is alike in all such products, if anything is.
  virtual void products(std::size_t i, ByteView output, std::span<const ByteView> others, Scratch& scratch,
                        std::span<double> result) const = 0;
  [[nodiscard]] virtual std::optional<UniformProducts> uniform_products(std::size_t) const { return std::nullopt; }

  // Tells that example i is looked at soon, so that its memory can be fetched meanwhile.
  virtual void prefetch(std::size_t) const {}

 protected:
  ~ImplicitDifferences() = default;
};

}  // namespace marginloom
