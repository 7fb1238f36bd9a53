// Sets of labels that follow single features of dense rows, with noise and an empty row.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "problems.hpp"
#include "tasks/multilabel/multilabel.hpp"

namespace problems {

struct LabelSets {
  std::size_t rows;
  std::size_t columns;
  std::size_t labels;
  std::vector<double> values = std::vector<double>(rows * columns);
  std::vector<std::uint8_t> gold = std::vector<std::uint8_t>(rows * marginloom::label_set_bytes(labels));

  LabelSets(std::size_t rows, std::size_t columns, std::size_t labels, Random& random)
      : rows(rows), columns(columns), labels(labels) {
    const std::size_t bytes = marginloom::label_set_bytes(labels);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t f = 0; f < columns && i != 4; ++f) values[i * columns + f] = uniform(random);
      for (std::size_t l = 0; l < labels; ++l) {
        const bool yes = values[i * columns + l % columns] > 0.3 || random.below(10) == 0;
        marginloom::put_label(std::span(gold).subspan(i * bytes), l, yes);
      }
    }
  }
  // Which looks at this: it must outlive the task.
  [[nodiscard]] std::shared_ptr<const marginloom::MultilabelTask> task(std::size_t labels_per_slack) const {
    marginloom::InputData data;
    data.row_count = rows;
    data.column_count = columns;
    data.dense = true;
    data.doubles = values;
    data.bias = 1;
    return std::make_shared<const marginloom::MultilabelTask>(
        data, gold, labels, marginloom::MultilabelOptions{.labels_per_slack = labels_per_slack});
  }
};

}  // namespace problems
