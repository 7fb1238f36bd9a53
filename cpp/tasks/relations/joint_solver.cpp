#include "tasks/relations/joint_solver.hpp"

#include <algorithm>

#include "core/common.hpp"
#include "core/interruption.hpp"

namespace marginloom {

TypeTable::TypeTable(std::size_t types, std::size_t labels, std::span<const Line> lines)
    : types_(types), labels_(labels), allowed_(types * types * labels, 0) {
  require(types >= 1 && types <= 255 && labels >= 1 && labels <= 256, "there can be 1 to 255 types and 255 relations");
  for (const Line& line : lines) {
    require(line.label >= 1 && line.label < labels && line.head < types && line.tail < types,
            "a line of the table of types is beyond the numbers of types and relations");
    allowed_[(line.label * types + line.head) * types + line.tail] = 1;
  }
  first_pair_.push_back(0);
  for (std::size_t label = 0; label < labels; ++label) {
    for (std::size_t cell = 0; cell < types * types; ++cell) {
      if (allowed_[label * types * types + cell]) pairs_.push_back(static_cast<std::uint16_t>(cell));
    }
    first_pair_.push_back(pairs_.size());
  }
}

double score_of(const JointScores& scores, const JointOutput& output) {
  double sum = 0;
  for (std::size_t a = 0; a < scores.spans; ++a) sum += scores.type(a, output.types[a]);
  for (std::size_t pair = 0; pair < output.labels.size(); ++pair) {
    sum += scores.pairs[pair * scores.pair_stride + output.labels[pair]];
  }
  return sum;
}

void take_best_labels(const TypeTable& table, const JointScores& scores, JointOutput& output) {
  output.labels.assign(scores.spans * (scores.spans - std::min<std::size_t>(scores.spans, 1)), 0);
  std::size_t row = 0;
  for (std::size_t a = 0; a < scores.spans; ++a) {
    count_steps(scores.spans * table.labels());
    for (std::size_t b = 0; b < scores.spans; ++b) {
      if (a == b) continue;
      const double* pair = scores.pairs.data() + row * scores.pair_stride;
      std::size_t best = 0;
      for (std::size_t label = 1; label < table.labels(); ++label) {
        if (pair[label] > pair[best] && table.allows(label, output.types[a], output.types[b])) best = label;
      }
      output.labels[row++] = static_cast<std::uint8_t>(best);
    }
  }
}

}  // namespace marginloom
