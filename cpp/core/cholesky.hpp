// Symmetric positive definite systems of equations that fit into memory, by Cholesky's factors: A = L L^T.
#pragma once

#include <cstddef>
#include <span>

namespace marginloom {

// Replaces the lower triangle of A by L; the upper one is neither read nor written. Rows begin `pitch` numbers after
// each other. False if A is not positive definite, and then what is left is neither.
[[nodiscard]] bool factor_cholesky(std::span<double> matrix, std::size_t order, std::size_t pitch);

// Replaces b by the solution of A x = b, given L.
void solve_cholesky(std::span<const double> factor, std::size_t pitch, std::span<double> b);

}  // namespace marginloom
