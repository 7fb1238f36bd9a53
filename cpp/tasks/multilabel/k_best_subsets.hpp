// The best sets of a few labels that all may interact, exactly and in order: every set is looked at.
//
// The labels are cut into two halves. A set is a part of each, and with c_l the weights that label l of the lower half
// has together with the labels of the upper part,
//
//   score = inside of the upper part + inside of the lower part + sum of c_l over the lower part
//
// For every upper part the 2^8 lower ones at most are scored by adding c_l to those without l, one l after the other;
// upper parts whose bound
//
//   inside of the upper part + min(sum_l max(0, g_l + c_l) + sum of the positive weights in the lower half,
//                                  best inside of a lower part + sum_l max(0, c_l))
//
// does not reach the k-th best set so far are left out. So k sets of 16 labels take some microseconds, tens at worst.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace marginloom {

class KBestSubsets {
 public:
  static constexpr std::size_t most_labels = 16;

  // Finds the k best sets of labels with these gains; `weights` has one number per pair. Requires at most most_labels.
  void start(std::span<const double> gains, std::span<const std::pair<std::uint32_t, std::uint32_t>> pairs,
             const double* weights, std::size_t k);

  // Moves to the next best set; false if there is none, or k have been had. Of equals the one with fewer labels of high
  // numbers comes first.
  [[nodiscard]] bool next();

  // Of the set moved to: its score, and it as bits (label_sets.hpp).
  [[nodiscard]] double score() const { return found_[next_ - 1].score; }
  void write(std::span<std::uint8_t> set) const;

 private:
  static constexpr std::size_t half = most_labels / 2;
  static constexpr std::size_t parts = std::size_t{1} << half;
  struct Found {
    double score;
    std::uint32_t set;
  };
  // Labels that lie together, and what each of their sets scores on its own.
  struct Half {
    std::size_t first = 0;
    std::size_t count = 0;
    std::array<double, parts> inside{};
  };

  [[nodiscard]] static bool better(const Found& a, const Found& b) {
    return a.score != b.score ? a.score > b.score : a.set < b.set;
  }
  void set_halves(std::span<const double> gains);
  void score_inside(Half& side) const;
  [[nodiscard]] double bound(const std::array<double, half>& crossing) const;
  void score_parts(std::size_t upper, const std::array<double, half>& crossing);
  void offer(const Found& set);

  std::array<double, most_labels> gains_{};
  std::array<std::array<double, most_labels>, most_labels> weights_{};  // of pairs, both ways
  Half lower_;
  Half upper_;
  double best_inside_ = 0;  // of the lower half
  double attraction_ = 0;   // sum of its positive weights
  std::size_t k_ = 0;
  std::size_t next_ = 0;
  std::vector<Found> found_;  // a heap with the worst of them first; sorted once all are found
};

}  // namespace marginloom
