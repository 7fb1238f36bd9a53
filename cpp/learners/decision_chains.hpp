// States of a learner that keeps a dual for every decision (decision_duals.hpp), as learners that keep candidates
// understand them: decisions sorted by the size of their duals make a chain of outputs.
#pragma once

#include "core/state.hpp"
#include "core/task.hpp"

namespace marginloom {

// Whether duals of the state belong to decisions, not to candidates.
[[nodiscard]] inline bool has_decisions(const StateArrays& state) {
  return state.contains("decisions");
}

// The same duals as those of candidates. Throws std::invalid_argument if they are not those of the task's decisions.
[[nodiscard]] StateArrays with_chains(const Task& task, const StateArrays& state);

}  // namespace marginloom
