// What was added to the weights since some moment, so that other copies of them can follow: the one form in which a
// change of the weights is kept, handed to other threads, merged and written as bytes.
//
// A change is a list of weights and what was added to each. Where differences are implicit, a change may name an
// example, outputs and steps instead, which the task turns into additions; expand() does that for all of them, so that
// the delta makes sense where nobody knows the example.
//
// Noting a change is an append to memory that is written in order. Whoever applies the delta repeats the same additions
// in the same order: copies that start alike stay alike to the last bit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/types.hpp"

namespace marginloom {

class Task;

class WeightDelta {
 public:
  void add(WeightIndex index, double change) {
    indices_.push_back(index);
    changes_.push_back(change);
  }
  // Changes of so many weights, 0 until they are filled in; until the next call.
  [[nodiscard]] std::span<double> add(std::span<const WeightIndex> indices) {
    indices_.insert(indices_.end(), indices.begin(), indices.end());
    changes_.resize(indices_.size());
    return std::span(changes_).last(indices.size());
  }
  // The sum of steps times differences, which the task evaluates from the outputs.
  void add(std::size_t example, std::span<const ByteView> outputs, std::span<const double> steps);

  [[nodiscard]] bool empty() const { return indices_.empty() && implicit_.empty(); }
  void clear();

  // w += all of it.
  void apply(const Task& task, std::span<double> w) const;

  // Everything of this one, then everything of the other.
  void append(const WeightDelta& later);

  // Weights in their order, each once, and no steps.
  void expand(const Task& task);
  // Of an expanded delta: the weights, all or those in begin ... end - 1, and what is added to them.
  [[nodiscard]] std::span<const WeightIndex> indices() const { return indices_; }
  [[nodiscard]] std::span<const WeightIndex> indices(std::size_t begin, std::size_t end) const;
  [[nodiscard]] std::span<const double> changes() const { return changes_; }
  // w += factor times an expanded delta, for the weights begin ... end - 1 alone, so that threads may share the
  // weights.
  void apply_times(double factor, std::size_t begin, std::size_t end, std::span<double> w) const;

  // An expanded delta as bytes, and back. from_bytes() throws std::invalid_argument if they are not those of an
  // expanded delta of so many weights.
  [[nodiscard]] std::vector<std::uint8_t> to_bytes() const;
  [[nodiscard]] static WeightDelta from_bytes(ByteView bytes, std::size_t dimension);

 private:
  // Steps on one example, after so many single additions.
  struct Steps {
    std::size_t after;
    std::size_t example;
    std::size_t outputs;
  };

  void check(std::size_t dimension) const;

  std::vector<WeightIndex> indices_;
  std::vector<double> changes_;
  std::vector<Steps> implicit_;
  std::vector<double> steps_;  // of their outputs, which lie one after the other
  std::vector<std::size_t> lengths_;
  std::vector<std::uint8_t> outputs_;
};

}  // namespace marginloom
