// Numbers with a sign to be told from them: a task that lies outside of the project, for the test that builds it.
#pragma once

#include <cmath>
#include <stdexcept>
#include <vector>

#include "core/task.hpp"

namespace signs {

using namespace marginloom;

// An output is one byte, 1 or 0; phi(x, 1) = x and phi(x, 0) = 0; a wrong one costs 1.
class SignTask final : public Task {
 public:
  SignTask(std::vector<std::vector<float>> inputs, std::vector<std::uint8_t> gold)
      : inputs_(std::move(inputs)), gold_(std::move(gold)) {
    if (inputs_.empty() || inputs_.size() != gold_.size()) throw std::invalid_argument("one sign per input is needed");
  }

  std::size_t size() const override { return inputs_.size(); }
  std::size_t dimension() const override { return inputs_.front().size(); }
  Capabilities capabilities() const override { return {}; }
  std::unique_ptr<Scratch> make_scratch() const override { return std::make_unique<Scratch>(); }

  void predict(std::size_t i, WeightView w, int, Scratch&, std::vector<Output>& outputs) const override {
    const double score = dot(i, w);
    outputs.assign(1, {{static_cast<std::uint8_t>(score > 0)}, std::max(score, 0.0), std::max(score, 0.0)});
  }
  double find(std::size_t i, WeightView w, const FindOptions& options, Scratch&, CandidateSink& sink) const override {
    const double violation = options.loss_scale - (gold_[i] ? dot(i, w) : -dot(i, w));
    if (violation >= options.min_violation) give(i, sink);
    return std::max(violation, 0.0);
  }
  bool candidate(std::size_t i, ByteView output, Scratch&, CandidateSink& sink) const override {
    if (output.size() != 1 || output[0] > 1) throw std::invalid_argument("a sign is one byte, 0 or 1");
    if (output[0] == gold_[i]) return false;
    give(i, sink);
    return true;
  }

 private:
  double dot(std::size_t i, WeightView w) const {
    double sum = 0;
    for (std::size_t k = 0; k < w.size(); ++k) sum += w[k] * inputs_[i][k];
    return sum;
  }
  void give(std::size_t i, CandidateSink& sink) const {
    const std::uint8_t output = gold_[i] ? 0 : 1;
    std::vector<Entry> difference;
    Candidate result;
    for (std::size_t k = 0; k < inputs_[i].size(); ++k) {
      const float value = gold_[i] ? inputs_[i][k] : -inputs_[i][k];
      if (value != 0) difference.push_back({static_cast<WeightIndex>(k), value});
      result.squared_norm += double{value} * value;
    }
    result.example = i;
    result.loss = 1;
    result.output = ByteView(&output, 1);
    result.key = output_key(result.output);
    result.difference = difference;
    sink.accept(result);
  }

  std::vector<std::vector<float>> inputs_;
  std::vector<std::uint8_t> gold_;
};

}  // namespace signs
