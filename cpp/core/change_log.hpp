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
  // w += sum of steps * differences, where the task evaluates the differences from the outputs.
  void note(std::size_t example, std::span<const ByteView> outputs, std::span<const double> steps) {
    implicit_steps_.push_back({example, outputs.size()});
    for (std::size_t j = 0; j < outputs.size(); ++j) {
      sizes_.push_back(steps[j]);
      lengths_.push_back(outputs[j].size());
      outputs_.insert(outputs_.end(), outputs[j].begin(), outputs[j].end());
    }
  }

  void apply(const Task& task, std::span<double> w) const;

  [[nodiscard]] bool empty() const { return steps_.empty() && implicit_steps_.empty(); }
  void clear() {
    steps_.clear();
    entries_.clear();
    implicit_steps_.clear();
    sizes_.clear();
    lengths_.clear();
    outputs_.clear();
  }

 private:
  struct Step {
    double size;
    std::size_t entries;
  };
  struct ImplicitStep {
    std::size_t example;
    std::size_t outputs;
  };
  std::vector<Step> steps_;
  std::vector<Entry> entries_;
  std::vector<ImplicitStep> implicit_steps_;
  std::vector<double> sizes_;  // of their outputs, which lie one after the other
  std::vector<std::size_t> lengths_;
  std::vector<std::uint8_t> outputs_;
};

}  // namespace marginloom
