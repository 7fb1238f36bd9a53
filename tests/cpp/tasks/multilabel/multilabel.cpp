#include "tasks/multilabel/multilabel.hpp"

#include <algorithm>
#include <cmath>

#include "core/random.hpp"
#include "tasks/multilabel/k_best_sets.hpp"
#include "test.hpp"

using marginloom::ByteView;
using marginloom::CandidateBatch;
using marginloom::InputData;
using marginloom::LabelPair;
using marginloom::MultilabelOptions;
using marginloom::MultilabelTask;
using marginloom::Random;
using marginloom::WeightWriter;

namespace {

constexpr std::size_t rows = 5;
constexpr std::size_t columns = 4;

InputData dense_rows(std::span<const double> values, double bias) {
  InputData inputs;
  inputs.row_count = rows;
  inputs.column_count = columns;
  inputs.dense = true;
  inputs.doubles = values;
  inputs.bias = bias;
  return inputs;
}

double number(Random& random) {
  return static_cast<double>(random.below(2001)) / 1000 - 1;
}

// Dense rows, and outputs of the first example of every row, which differ from gold here and there.
struct Problem {
  Problem(Random& random, std::size_t labels, std::size_t per_slack, std::vector<LabelPair> all_pairs)
      : pairs(std::move(all_pairs)) {
    for (std::size_t k = 0; k < rows * columns; ++k) values.push_back(random.below(3) == 0 ? 0.0 : number(random));
    size = per_slack == 0 ? labels : per_slack;
    parts = (labels + size - 1) / size;
    for (std::size_t i = 0; i < rows * parts; ++i) append_set(random, i % parts, size, labels, gold);
    join(labels);
    task = std::make_unique<MultilabelTask>(dense_rows(values, bias), row_sets, labels,
                                            MultilabelOptions{.labels_per_slack = per_slack, .pairs = pairs});
    for (int k = 0; k < 5; ++k) {
      sets.emplace_back();
      append_set(random, 0, size, labels, sets.back());
    }
    for (const auto& set : sets) outputs.emplace_back(set);
    for (std::size_t k = 0; k < task->dimension(); ++k) w.push_back(number(random));
  }

  static void append_set(Random& random, std::size_t part, std::size_t size, std::size_t labels,
                         std::vector<std::uint8_t>& bytes) {
    const std::size_t begin = bytes.size();
    bytes.resize(begin + marginloom::label_set_bytes(size));
    for (std::size_t l = 0; l < size && part * size + l < labels; ++l) {
      if (random.below(3) == 0) marginloom::put_label(std::span(bytes).subspan(begin), l, true);
    }
  }

  // The sets of whole rows, as the task gets them.
  void join(std::size_t labels) {
    const std::size_t bytes = marginloom::label_set_bytes(labels);
    const ByteView sets(gold);
    row_sets.resize(rows * bytes);
    for (std::size_t k = 0; k < rows * labels; ++k) {
      const std::size_t row = k / labels;
      const std::size_t label = k % labels;
      const ByteView part = sets.subspan((row * parts + label / size) * marginloom::label_set_bytes(size));
      marginloom::put_label(std::span(row_sets).subspan(row * bytes), label, marginloom::has_label(part, label % size));
    }
  }

  // phi(gold) - phi(output), all of it, written down from the definition.
  [[nodiscard]] std::vector<double> difference(std::size_t i, ByteView output) const {
    std::vector<double> result(task->dimension(), 0.0);
    const auto add = [&](ByteView set, double sign) {
      for (std::size_t l = 0; l < size; ++l) {
        if (!marginloom::has_label(set, l)) continue;
        for (std::size_t f = 0; f <= columns; ++f) {
          const double value = f < columns ? values[i / parts * columns + f] : bias;
          result[task->first_row() + f * task->stride() + i % parts * size + l] += sign * value;
        }
      }
      for (std::size_t p = 0; p < pairs.size(); ++p) {
        if (marginloom::has_label(set, pairs[p].first) && marginloom::has_label(set, pairs[p].second))
          result[p] += sign;
      }
    };
    add(ByteView(gold).subspan(i * output.size(), output.size()), 1);
    add(output, -1);
    return result;
  }

  static constexpr double bias = 0.5;
  std::vector<LabelPair> pairs;
  std::size_t size;   // labels of an example
  std::size_t parts;  // examples of a row
  std::vector<double> values;
  std::vector<std::uint8_t> gold;  // by example
  std::vector<std::uint8_t> row_sets;
  std::unique_ptr<MultilabelTask> task;
  std::vector<std::vector<std::uint8_t>> sets;
  std::vector<ByteView> outputs;
  std::vector<double> w;
};

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

template <class Check>
void for_problems(std::uint64_t seed, Check check) {
  Random random(seed);
  check(Problem(random, 1, 0, {}), 0);
  check(Problem(random, 9, 0, {}), rows - 1);
  check(Problem(random, 9, 1, {}), 9);
  check(Problem(random, 30, 12, {}), 3);
  check(Problem(random, 24, 8, {}), 5);
  check(Problem(random, 21, 16, {}), 2);
  check(Problem(random, 70, 0, {}), 2);
  check(Problem(random, 150, 0, {{0, 3}, {3, 140}}), 1);
  check(Problem(random, 11, 0, {{0, 1}, {1, 2}, {2, 0}, {4, 9}}), 1);
  check(Problem(random, 2100, 0, {{0, 2050}}), 1);  // more labels than the stack has room for
}

}  // namespace

TEST("multilabel: products of differences are those of the vectors") {
  for_problems(1, [](const Problem& problem, std::size_t i) {
    const std::size_t count = problem.outputs.size();
    const auto scratch = problem.task->make_scratch();
    std::vector<double> row(count, -1);
    for (std::size_t j = 0; j < count; ++j) {
      problem.task->products(i, problem.outputs[j], problem.outputs, *scratch, row);
      for (std::size_t k = 0; k < count; ++k) {
        const double expected =
            dot(problem.difference(i, problem.outputs[j]), problem.difference(i, problem.outputs[k]));
        CHECK_NEAR(row[k], expected, 1e-9);
      }
    }
  });
}

TEST("multilabel: candidates have the norm and the loss of their difference") {
  for_problems(2, [](const Problem& problem, std::size_t i) {
    const auto scratch = problem.task->make_scratch();
    for (const ByteView output : problem.outputs) {
      CandidateBatch found;
      problem.task->candidate(i, output, *scratch, found);
      const auto difference = problem.difference(i, output);
      CHECK_NEAR(found[0].squared_norm, dot(difference, difference), 1e-9);
      std::size_t wrong = 0;
      for (std::size_t k = 0; k < output.size(); ++k) {
        wrong += static_cast<std::size_t>(
            std::popcount(static_cast<unsigned>(output[k] ^ problem.gold[i * output.size() + k])));
      }
      CHECK(found[0].loss == static_cast<double>(wrong));
    }
  });
}

TEST("multilabel: gather and scatter of several outputs are those of the differences, plain and atomic") {
  for_problems(3, [](const Problem& problem, std::size_t i) {
    const MultilabelTask& task = *problem.task;
    const std::size_t count = problem.outputs.size();
    const std::vector<double> steps{0.5, 0, -1.25, 2, 0.125};
    std::vector<double> expected = problem.w;
    std::vector<double> dots;
    for (std::size_t j = 0; j < count; ++j) {
      const auto difference = problem.difference(i, problem.outputs[j]);
      dots.push_back(dot(difference, problem.w));
      for (std::size_t k = 0; k < expected.size(); ++k) expected[k] += steps[j] * difference[k];
    }
    for (const bool atomic : {false, true}) {
      std::vector<double> w = problem.w;
      std::vector<double> found(count);
      task.gather(i, problem.outputs, w, found);
      for (std::size_t j = 0; j < count; ++j) {
        CHECK_NEAR(found[j], dots[j], 1e-9);
        double alone = 0;
        task.gather(i, std::span(problem.outputs).subspan(j, 1), w, std::span(&alone, 1));
        CHECK_NEAR(alone, dots[j], 1e-9);
      }
      task.scatter(i, problem.outputs, steps, WeightWriter{w.data(), atomic});
      for (std::size_t k = 0; k < w.size(); ++k) CHECK_NEAR(w[k], expected[k], 1e-9);
    }
  });
}

TEST("multilabel: scores are all that search, gather and scatter need of the weights") {
  for_problems(5, [](const Problem& problem, std::size_t i) {
    const MultilabelTask& task = *problem.task;
    const auto scratch = task.make_scratch();
    const std::size_t count = problem.outputs.size();
    std::vector<double> scores(task.score_count());
    task.score(i, problem.w, scores.data());
    CandidateBatch by_scores, by_weights;
    const marginloom::FindOptions options{.k = task.capabilities().k_best ? 3 : 1};
    const double bound = task.find_scored(i, scores.data(), options, *scratch, by_scores);
    CHECK(bound == task.find(i, problem.w, options, *scratch, by_weights));
    CHECK(by_scores.size() == by_weights.size() && !by_scores.empty());
    for (std::size_t k = 0; k < by_scores.size(); ++k) CHECK(by_scores[k].key == by_weights[k].key);

    std::vector<double> values(count);
    task.gather_scored(i, problem.outputs, scores.data(), values);
    for (std::size_t j = 0; j < count; ++j) {
      CHECK_NEAR(values[j], dot(problem.difference(i, problem.outputs[j]), problem.w), 1e-9);
    }

    // A step on a score moves the weights by its gradient.
    const std::size_t first_pair = scores.size() - problem.pairs.size();
    for (const std::size_t s : {std::size_t{0}, problem.size / 2, first_pair}) {
      if (s == scores.size()) continue;
      std::vector<double> gradient(task.dimension());
      const marginloom::ScoreStep step{s, 1.0};
      task.add_score_steps(i, std::span(&step, 1), {gradient.data()});
      CHECK_NEAR(dot(gradient, problem.w), scores[s], 1e-9);
    }
  });
}

TEST("multilabel: batches have the bits of one example at a time") {
  for_problems(6, [](const Problem& problem, std::size_t) {
    const MultilabelTask& task = *problem.task;
    const auto scratch = task.make_scratch();
    std::vector<std::size_t> examples;
    for (std::size_t i = 0; i < task.size(); ++i) {
      if (i != 2) examples.push_back(i);
    }
    std::vector<std::vector<marginloom::Output>> outputs(examples.size());
    task.predict_batch(examples, problem.w, 1, *scratch, outputs);
    std::vector<double> bounds(examples.size());
    CandidateBatch ignored;
    task.find_batch(examples, problem.w, std::vector<marginloom::FindOptions>(examples.size()), *scratch, ignored,
                    bounds);
    for (std::size_t j = 0; j < examples.size(); ++j) {
      std::vector<marginloom::Output> alone;
      task.predict(examples[j], problem.w, 1, *scratch, alone);
      CHECK(alone[0].bytes == outputs[j][0].bytes && alone[0].score == outputs[j][0].score);
      CHECK(task.find(examples[j], problem.w, {}, *scratch, ignored) == bounds[j]);
    }
  });
}

TEST("multilabel: weights have the product form where labels neither interact nor share rows among examples") {
  Random random(7);
  const Problem plain(random, 9, 0, {});
  const auto form = plain.task->product_form();
  CHECK(form && form->columns == 9 && form->stride == 16 && form->inputs.size() == rows);
  CHECK(plain.task->capabilities().factored);
  CHECK(!Problem(random, 9, 4, {}).task->capabilities().factored);
  CHECK(!Problem(random, 9, 0, {{0, 1}}).task->capabilities().factored);
}

TEST("multilabel: scores of parts are those of the whole") {
  Random random(4);
  const Problem problem(random, 30, 12, {});
  const MultilabelTask whole(dense_rows(problem.values, 0.5), {}, 30, {});
  const auto scratch = problem.task->make_scratch();
  const auto whole_scratch = whole.make_scratch();
  for (std::size_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (std::size_t part = 0; part < 3; ++part) {
      std::vector<marginloom::Output> outputs;
      problem.task->predict(3 * row + part, problem.w, 1, *scratch, outputs);
      sum += outputs[0].score;
    }
    std::vector<marginloom::Output> outputs;
    whole.predict(row, problem.w, 1, *whole_scratch, outputs);
    CHECK_NEAR(outputs[0].score, sum, 1e-9);
  }
}

TEST("k best sets: nothing to flip, and more asked for than there is") {
  marginloom::KBestSets sets;
  const std::vector<double> gains{1.0, -2.0};
  sets.start(gains, 9);
  std::vector<double> scores;
  while (sets.next()) scores.push_back(sets.score());
  CHECK(scores == std::vector<double>{1, 0, -1, -2});
  sets.start({}, 3);
  CHECK(sets.next());
  CHECK(sets.score() == 0);
  CHECK(!sets.next());
}

TEST("multilabel: data that contradict themselves are refused") {
  const std::vector<double> values(rows * columns, 1.0);
  const InputData inputs = dense_rows(values, 0);
  const std::vector<std::uint8_t> sets(rows, 0);
  const std::vector<std::uint8_t> stray(rows, 0x80);
  const auto make = [&](std::span<const std::uint8_t> gold, std::size_t labels, MultilabelOptions options = {}) {
    return MultilabelTask(inputs, gold, labels, std::move(options)).size();
  };
  CHECK(make(sets, 7) == rows);
  CHECK_THROWS(std::invalid_argument, make(sets, 0), "1 to 1,048,576 labels");
  CHECK_THROWS(std::invalid_argument, make(sets, 9), "one set of labels per row");
  CHECK_THROWS(std::invalid_argument, make(stray, 7), "beyond the number of labels");
  CHECK_THROWS(std::invalid_argument, make(sets, 7, {.missing_costs = {1, 2}}), "one cost per label");
  CHECK_THROWS(std::invalid_argument, make(sets, 7, {.pairs = {{1, 7}}}), "two different labels of 7");
  CHECK_THROWS(std::invalid_argument, make({}, 7, {.labels_per_slack = 2, .pairs = {{1, 2}}}), "share their slack");
}
