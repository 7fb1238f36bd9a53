// The two losses of the objective 1/2 |w|^2 + sum_i C_i l(xi_i).
#pragma once

#include <array>
#include <utility>

namespace marginloom {

enum class Loss { hinge, squared_hinge };

inline constexpr std::array<std::pair<const char*, Loss>, 2> loss_words{
    {{"hinge", Loss::hinge}, {"squared_hinge", Loss::squared_hinge}}};

[[nodiscard]] inline double loss_value(Loss loss, double slack) {
  return loss == Loss::hinge ? slack : slack * slack;
}

}  // namespace marginloom
