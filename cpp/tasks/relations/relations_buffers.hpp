// What a thread needs to search sentences with spans.
#pragma once

#include <memory>
#include <vector>

#include "core/entry_sort.hpp"
#include "tasks/relations/relations.hpp"
#include "tasks/relations/type_sums.hpp"

namespace marginloom {

struct RelationsTask::Buffers final : Scratch {
  JointScores scores;
  JointOutput found;
  std::unique_ptr<Scratch> solver;
  std::vector<std::uint8_t> output;
  std::vector<Entry> difference;
  std::vector<Entry> spare;
  TypeSums sums;
};

}  // namespace marginloom
