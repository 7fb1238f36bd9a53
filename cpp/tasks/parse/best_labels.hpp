// The best label of any arc that a search asks for, computed once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/types.hpp"
#include "tasks/parse/arc_scorer.hpp"
#include "tasks/parse/label_scorer.hpp"

namespace marginloom {

struct BestLabel {
  double score = 0;
  std::uint16_t label = 0;
};

// Memory of one thread. Both arguments must outlive it.
class BestLabels {
 public:
  BestLabels(LabelScorer scorer, const LabelMasks& allowed) : scorer_(std::move(scorer)), allowed_(allowed) {}

  void load(const WordValues& words) { scorer_.load(words); }
  [[nodiscard]] const KeyParts& parts() const { return scorer_.parts(); }

  // To be called with a new sentence and with new weights.
  void begin(WeightView w, std::size_t length) {
    weights_ = w;
    scorer_.begin(w, length);
    if (kept_.empty()) kept_.resize(kept_size);
    if (++generation_ == 0) {
      kept_.assign(kept_size, Kept{});
      generation_ = 1;
    }
  }

  // Of those that the arc may have, the first of the highest.
  [[nodiscard]] BestLabel best(std::size_t head, std::size_t modifier) {
    const auto arc = static_cast<std::uint32_t>(head << 16 | modifier);
    Kept& kept = kept_[(arc * 0x9E3779B1U) >> (32 - kept_bits)];
    if (kept.generation != generation_ || kept.arc != arc) {
      const double* const scores = scorer_.score(weights_, head, modifier);
      const auto& allowed = allowed_.of(head);
      BestLabel best{scores[allowed[0]], allowed[0]};
      for (const std::uint16_t label : allowed) {
        if (scores[label] > best.score) best = {scores[label], label};
      }
      kept = {best, generation_, arc};
    }
    return kept.best;
  }

  [[nodiscard]] double score(std::size_t head, std::size_t modifier, std::uint16_t label) {
    return scorer_.score(weights_, head, modifier)[label];
  }

 private:
  static constexpr int kept_bits = 12;
  static constexpr std::size_t kept_size = std::size_t{1} << kept_bits;

  struct Kept {
    BestLabel best;
    std::uint32_t generation = 0;
    std::uint32_t arc = 0;
  };

  LabelScorer scorer_;
  const LabelMasks& allowed_;
  WeightView weights_;
  std::vector<Kept> kept_;
  std::uint32_t generation_ = 0;
};

}  // namespace marginloom
