// The multiclass task: shared work between outputs and batches against one at a time.
#include "tasks/multiclass/multiclass.hpp"

#include <memory>
#include <numeric>
#include <vector>

#include "core/random.hpp"
#include "learners/blocks.hpp"
#include "problems.hpp"
#include "test.hpp"

using namespace marginloom;

namespace {

struct Inputs {
  std::size_t rows = 7;
  std::size_t columns = 5;
  std::size_t classes = 4;
  double bias = 0;
  bool dense = false;
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint32_t> indices;
  std::vector<double> values;
  std::vector<ClassIndex> gold;

  Inputs(std::size_t classes, bool dense, double bias, Random& random) : classes(classes), bias(bias), dense(dense) {
    for (std::size_t i = 0; i < rows; ++i) {
      gold.push_back(static_cast<ClassIndex>(random.below(classes)));
      for (std::size_t f = 0; f < columns; ++f) {
        const double value = random.below(2) * problems::eighths(random);
        if (!dense && value == 0) continue;
        indices.push_back(static_cast<std::uint32_t>(f));
        values.push_back(value);
      }
      offsets.push_back(indices.size());
    }
  }
  // The inputs must outlive the task.
  [[nodiscard]] std::shared_ptr<const MulticlassTask> task() const {
    InputData data;
    data.row_count = rows;
    data.column_count = columns;
    data.dense = dense;
    data.offsets = offsets;
    data.columns = indices;
    data.doubles = values;
    data.bias = bias;
    return std::make_shared<const MulticlassTask>(data, gold, classes, std::vector<double>{});
  }
  // Encodings of some wrong classes of example i.
  [[nodiscard]] std::vector<ClassIndex> wrong(std::size_t i, std::size_t most) const {
    std::vector<ClassIndex> result;
    for (ClassIndex y = 0; y < classes && result.size() < most; ++y) {
      if (y != gold[i]) result.push_back(y);
    }
    return result;
  }
};

std::vector<ByteView> bytes_of(const std::vector<ClassIndex>& classes) {
  std::vector<ByteView> result;
  for (const ClassIndex& y : classes) result.emplace_back(reinterpret_cast<const std::uint8_t*>(&y), sizeof y);
  return result;
}

// Calls check(inputs, task) for all kinds of inputs.
template <class Check>
void for_all_kinds(Check check) {
  Random random(5);
  for (const std::size_t classes : {2U, 4U, 9U, 20U, 300U}) {
    for (const bool dense : {false, true}) {
      for (const double bias : {0.0, 0.5}) {
        const Inputs inputs(classes, dense, bias, random);
        check(inputs, *inputs.task(), random);
      }
    }
  }
}

}  // namespace

TEST("multiclass: gather and scatter of all outputs at once are what one at a time gives, plain and atomic") {
  for_all_kinds([](const Inputs& inputs, const MulticlassTask& task, Random& random) {
    const auto w = problems::random_vector(task.dimension(), random, problems::eighths);
    for (const std::size_t most : {1U, 2U, 3U, 4U, 7U, 299U}) {
      for (std::size_t i = 0; i < inputs.rows; ++i) {
        const auto classes = inputs.wrong(i, most);
        const auto outputs = bytes_of(classes);
        auto steps = problems::random_vector(outputs.size(), random, problems::eighths);
        steps[0] = 0;
        const auto one = [&](std::size_t j) { return std::span(outputs).subspan(j, 1); };
        std::vector<double> dots(outputs.size());
        task.gather(i, outputs, w, dots);
        for (std::size_t j = 0; j < outputs.size(); ++j) {
          double alone = 0;
          task.gather(i, one(j), w, std::span(&alone, 1));
          CHECK(dots[j] == alone);
        }
        for (const bool atomic : {false, true}) {
          auto together = w;
          auto apart = w;
          task.scatter(i, outputs, steps, {together.data(), atomic});
          for (std::size_t j = 0; j < outputs.size(); ++j) {
            task.scatter(i, one(j), std::span(steps).subspan(j, 1), {apart.data(), atomic});
          }
          for (std::size_t k = 0; k < w.size(); ++k) CHECK_NEAR(together[k], apart[k], 1e-9);
        }
      }
    }
  });
}

TEST("multiclass: what is gathered from scores, and scattered to columns, is what the weights give and get") {
  for_all_kinds([](const Inputs& inputs, const MulticlassTask& task, Random& random) {
    const auto w = problems::random_vector(task.dimension(), random, problems::eighths);
    for (std::size_t i = 0; i < inputs.rows; ++i) {
      const auto classes = inputs.wrong(i, 7);
      const auto outputs = bytes_of(classes);
      const auto steps = problems::random_vector(outputs.size(), random, problems::eighths);
      std::vector<double> scores(task.stride()), by_scores(outputs.size()), by_weights(outputs.size());
      task.score(i, w, scores.data());
      task.gather_scored(i, outputs, scores.data(), by_scores);
      task.gather(i, outputs, w, by_weights);
      for (std::size_t j = 0; j < outputs.size(); ++j) CHECK_NEAR(by_scores[j], by_weights[j], 1e-12);
      auto expected = w;
      auto moved = w;
      task.scatter(i, outputs, steps, {expected.data()});
      ScoreSteps changes;
      task.scatter_scored(i, outputs, steps, changes);
      std::vector<double> row(task.stride());
      for (const ScoreStep& change : changes.all()) row[change.score] += change.value;
      task.product_form()->inputs.add_to_rows(i, row.data(), task.stride(), moved.data());
      for (std::size_t k = 0; k < w.size(); ++k) CHECK_NEAR(moved[k], expected[k], 1e-9);
    }
  });
}

TEST("multiclass: the products of differences are what the differences say") {
  for_all_kinds([](const Inputs& inputs, const MulticlassTask& task, Random&) {
    const auto scratch = task.make_scratch();
    for (std::size_t i = 0; i < inputs.rows; ++i) {
      const auto classes = inputs.wrong(i, 3);
      const auto outputs = bytes_of(classes);
      const UniformProducts known = task.uniform_products(i).value();
      for (std::size_t j = 0; j < outputs.size(); ++j) {
        std::vector<double> difference(task.dimension(), 0.0);
        task.scatter(i, std::span(outputs).subspan(j, 1), std::vector<double>{1}, {difference.data()});
        std::vector<double> expected(outputs.size()), products(outputs.size());
        task.gather(i, outputs, difference, expected);
        task.products(i, outputs[j], outputs, *scratch, products);
        for (std::size_t k = 0; k < outputs.size(); ++k) {
          CHECK_NEAR(products[k], expected[k], 1e-12);
          CHECK_NEAR(known.shared + (j == k ? known.excess : 0), expected[k], 1e-12);
        }
      }
    }
  });
}

TEST("multiclass: batches have the bits of one example at a time, also with gaps between the examples") {
  for_all_kinds([](const Inputs& inputs, const MulticlassTask& task, Random& random) {
    const auto w = problems::random_vector(task.dimension(), random, problems::uniform);
    const auto scratch = task.make_scratch();
    for (const std::vector<std::size_t>& examples :
         {std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6}, {0, 2, 3, 5}, {6, 5, 4}, {3}, {}}) {
      std::vector<std::vector<Output>> outputs(examples.size());
      task.predict_batch(examples, w, 2, *scratch, outputs);
      std::vector<double> bounds(examples.size());
      const std::vector<FindOptions> options(examples.size(), FindOptions{.k = 100, .min_violation = 0.1});
      CandidateBatch batch;
      task.find_batch(examples, w, options, *scratch, batch, bounds);
      CandidateBatch single;
      for (std::size_t j = 0; j < examples.size(); ++j) {
        std::vector<Output> expected;
        task.predict(examples[j], w, 2, *scratch, expected);
        CHECK(expected.size() == outputs[j].size());
        for (std::size_t k = 0; k < expected.size(); ++k) {
          CHECK(expected[k].bytes == outputs[j][k].bytes && expected[k].score == outputs[j][k].score);
        }
        CHECK(task.find(examples[j], w, options[j], *scratch, single) == bounds[j]);
      }
      CHECK(single.size() == batch.size());
      for (std::size_t k = 0; k < single.size(); ++k) {
        CHECK(single[k].example == batch[k].example && single[k].key == batch[k].key);
      }
    }
    CHECK(inputs.rows == task.size());
  });
}

TEST("multiclass: a right class is no dual variable of a state") {
  Random random(1);
  const Inputs inputs(4, false, 0, random);
  const auto task = inputs.task();
  const Blocks blocks(task, Blocks::unlimited, false);
  StateArrays state = blocks.export_state(marginloom::ExampleIds(task->size()));
  state["dual_examples"] = std::vector<std::uint64_t>{2};
  state["duals"] = std::vector<double>{0.5};
  state["dual_output_offsets"] = std::vector<std::uint64_t>{0, sizeof(ClassIndex)};
  std::vector<std::uint8_t> output(sizeof(ClassIndex));
  std::memcpy(output.data(), &inputs.gold[2], sizeof(ClassIndex));
  state["dual_outputs"] = output;
  CHECK(blocks.imported(state, marginloom::ExampleIds(task->size())).active() == 0);
}
