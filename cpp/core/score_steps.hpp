// Steps on the scores of one example: what steps on its outputs come to.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace marginloom {

// The weights move by `value` times the gradient of a score.
struct ScoreStep {
  std::size_t score;
  double value;
};

// A list of them, which allocates only where they are many. A score may come twice.
class ScoreSteps {
 public:
  void add(std::size_t score, double value) {
    if (count_ < few) {
      few_[count_++] = {score, value};
      return;
    }
    if (count_ == few) many_.assign(few_, few_ + few);
    many_.push_back({score, value});
    ++count_;
  }
  void clear() { count_ = 0; }
  [[nodiscard]] std::span<const ScoreStep> all() const { return {count_ <= few ? few_ : many_.data(), count_}; }

 private:
  static constexpr std::size_t few = 32;
  ScoreStep few_[few];  // as they are: setting them would take longer than most uses
  std::vector<ScoreStep> many_;
  std::size_t count_ = 0;
};

}  // namespace marginloom
