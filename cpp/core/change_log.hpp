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
  // w += step * difference.
  void note(std::span<const Entry> difference, double step) {
    steps_.push_back({step, difference.size()});
    entries_.insert(entries_.end(), difference.begin(), difference.end());
  }
  // w += step * difference, where the task evaluates the difference from the output.
  void note(std::size_t example, ByteView output, double step) {
    implicit_steps_.push_back({step, example, output.size()});
    outputs_.insert(outputs_.end(), output.begin(), output.end());
  }

  void apply(const Task& task, std::span<double> w) const;

  [[nodiscard]] bool empty() const { return steps_.empty() && implicit_steps_.empty(); }
  void clear() {
    steps_.clear();
    entries_.clear();
    implicit_steps_.clear();
    outputs_.clear();
  }

 private:
  struct Step {
    double size;
    std::size_t entries;
  };
  struct ImplicitStep {
    double size;
    std::size_t example;
    std::size_t bytes;
  };
  std::vector<Step> steps_;
  std::vector<Entry> entries_;
  std::vector<ImplicitStep> implicit_steps_;
  std::vector<std::uint8_t> outputs_;
};

}  // namespace marginloom
