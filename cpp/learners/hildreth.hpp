// Hildreth's method for the quadratic programme of MIRA.
//
//   primal   min_w  1/2 |w - w_0|^2 + sum_i C_i xi_i   with  w.d_j >= loss_j - xi_i  for the candidates j of example i
//   dual     max_a  sum_j a_j r_j(0) - 1/2 a'Ga        with  a_j >= 0 and, per example i, sum_j a_j <= C_i
//            G_jk = d_j.d_k,  r(a) = loss - D w_0 - G a (what is missing from each margin),  w = w_0 + sum_j a_j d_j
//   update   cyclic: a_j moves by r_j / G_jj, cut off at 0 and at what is left of C_i. Where nothing is left and
//            r_j > 0, a_j takes from the member k of its example that has a_k > 0 and the lowest r_k:
//            t = min((r_j - r_k) / |d_j - d_k|^2, a_k),  a_j += t,  a_k -= t
//   stop     when no margin was off by more than the tolerance in a whole sweep: r_j <= tolerance where a_j = 0,
//            |r_j| <= tolerance where 0 < a_j, both up to the multiplier of sum_j a_j <= C_i
//
// Steps of one variable alone get stuck where the sum is used up; the steps of two make every fixed point an
// optimum. C_i may be infinite (hard margins): then constraints can contradict each other, the duals grow
// without end, and the limit on sweeps ends it.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace marginloom {

struct HildrethOptions {
  double tolerance = 1e-6;
  int max_sweeps = 1000;
};

// One programme; its memory is used again for the next one.
class Hildreth {
 public:
  // Starts a programme of `size` candidates.
  void reset(std::size_t size);

  // Candidates of one example must be neighbours. Requires a positive squared norm and cost.
  void set(std::size_t j, std::size_t example, double cost, double missing, double squared_norm);
  void set_product(std::size_t j, std::size_t k, double product);  // d_j.d_k

  // The duals; valid until reset().
  [[nodiscard]] std::span<const double> solve(const HildrethOptions& options);

 private:
  struct Block {
    std::size_t begin;
    std::size_t end;
    double left;  // C_i - sum_j a_j
  };

  double improve(std::size_t j, Block& block);
  double take_from_lowest(std::size_t j, const Block& block);
  void move(std::size_t j, double change);

  std::size_t size_ = 0;
  std::vector<double> gram_;
  std::vector<double> missing_;  // r
  std::vector<double> duals_;
  std::vector<double> costs_;
  std::vector<std::size_t> examples_;
  std::vector<Block> blocks_;
};

}  // namespace marginloom
