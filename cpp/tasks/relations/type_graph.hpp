// Types of spans as a graph: scores of types, and of the types of two spans together where these interact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tasks/relations/joint_solver.hpp"

namespace marginloom {

struct TypeGraph {
  struct Edge {
    std::uint32_t first;  // spans, in order
    std::uint32_t second;
    std::size_t table;  // where its terms begin: one for every type of the first and of the second
  };

  std::size_t types = 0;
  std::vector<double> own;  // a row of `types` scores for every span
  std::vector<Edge> edges;
  std::vector<double> terms;
  double constant = 0;  // what does not depend on types

  void build(const TypeTable& table, const JointScores& scores);

 private:
  // The best that labels of the ordered pair (a, b) add to none, for all types; false if nothing adds anything.
  bool add_gains(const TypeTable& table, const double* pair, bool swapped, double* gains);
  // Moves terms that are sums into scores of types; false if there are others.
  bool dissolve(const double* gains, std::size_t a, std::size_t b);

  std::vector<double> gains_;
  std::vector<double> best_;
};

}  // namespace marginloom
