// What a learner did to the weights, step by step, so that copies of the weights can follow.
//
// Noting a step is an append to memory that is written in order, and the weights themselves stay in the learner's
// cache. Whoever applies the log to a copy repeats the same additions in the same order: the copy has the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/candidate.hpp"

namespace marginloom {

class Task;

class ChangeLog {
 public:
  // w[k] += change.
  void note(WeightIndex k, double change) { changes_.push_back({k, change}); }
  // w += step * difference, where the task evaluates the difference from the output.
  void note(std::size_t example, ByteView output, double step) {
    steps_.push_back({step, example, output.size()});
    outputs_.insert(outputs_.end(), output.begin(), output.end());
  }

  void apply(const Task& task, std::span<double> w) const;

  [[nodiscard]] bool empty() const { return changes_.empty() && steps_.empty(); }
  void clear() {
    changes_.clear();
    steps_.clear();
    outputs_.clear();
  }

 private:
  struct Change {
    WeightIndex index;
    double change;
  };
  struct ImplicitStep {
    double step;
    std::size_t example;
    std::size_t bytes;
  };
  std::vector<Change> changes_;
  std::vector<ImplicitStep> steps_;
  std::vector<std::uint8_t> outputs_;
};

}  // namespace marginloom
