// The k best paths through a chain, exactly and in order.
#pragma once

#include <cstdint>
#include <vector>

namespace marginloom {

// Scores of a chain: labels at each token, and pairs of neighbours; rows of `stride` doubles.
struct ChainScores {
  const double* tokens;
  const double* transitions;
  std::size_t length;
  std::size_t labels;
  std::size_t stride;
};

class KBestPaths {
 public:
  struct Path {
    std::vector<std::uint16_t> labels;
    double score;
  };

  // The k best paths, best first; fewer if there are fewer with a finite score. Of equal scores the one with the lower
  // label at the last token where they differ comes first. The result lives until the next call.
  const std::vector<Path>& find(const ChainScores& chain, std::size_t k);

 private:
  struct Step {
    double score;
    std::uint32_t rank;   // of the prefix at the token before
    std::uint16_t label;  // there
  };
  struct Next {  // the next best unused prefix that ends in a label
    double score;
    std::uint32_t rank;
    std::uint16_t label;
    friend bool operator<(const Next& a, const Next& b) {
      return a.score != b.score ? a.score < b.score : a.label > b.label;
    }
  };

  [[nodiscard]] std::vector<Step>& steps(std::size_t t, std::size_t label) { return steps_[t * labels_ + label]; }
  void extend(const ChainScores& chain, std::size_t t, std::size_t label, std::size_t k);

  std::size_t labels_ = 0;
  std::vector<std::vector<Step>> steps_;  // per token and label, best first
  std::vector<Next> heap_;
  std::vector<Path> paths_;
};

}  // namespace marginloom
