#include "tasks/sequence/sequence.hpp"

#include <algorithm>
#include <limits>

#include "problems.hpp"
#include "test.hpp"

using marginloom::Candidate;
using marginloom::CandidateBatch;
using marginloom::FindOptions;
using marginloom::Output;
using marginloom::Random;
using marginloom::WeightWriter;
using problems::Kind;
using problems::Problem;

namespace {

template <class Check>
void for_all_kinds(std::uint64_t seed, Check check) {
  Random random(seed);
  for (const Kind kind : {Kind::indicators, Kind::values, Kind::dense}) {
    for (const bool start_end : {false, true}) {
      for (const bool label_costs : {false, true}) {
        for (const std::size_t labels : {1, 2, 4, 9}) {
          const Problem problem = problems::make_problem({.sentences = 6,
                                                          .longest = labels > 4 ? 3U : 5U,
                                                          .labels = labels,
                                                          .kind = kind,
                                                          .start_end = start_end,
                                                          .label_costs = label_costs},
                                                         random);
          check(problem, random);
        }
      }
    }
  }
}

Output predict(const Problem& problem, std::size_t i, std::span<const double> w) {
  const auto task = problem.task();
  const auto scratch = task->make_scratch();
  std::vector<Output> outputs(3);
  task->predict(i, w, 1, *scratch, outputs);
  CHECK(outputs.size() == 1);
  return outputs[0];
}

bool equal(const Candidate& a, const Candidate& b) {
  const auto same_entry = [](const auto& x, const auto& y) { return x.index == y.index && x.value == y.value; };
  return a.example == b.example && a.loss == b.loss && a.squared_norm == b.squared_norm && a.key == b.key &&
         a.implicit == b.implicit && std::ranges::equal(a.output, b.output) &&
         std::ranges::equal(a.difference, b.difference, same_entry);
}

}  // namespace

TEST("sequence: prediction is the best of all outputs, ties to the lowest label from the end") {
  std::size_t distinct = 0;
  for_all_kinds(11, [&](const Problem& problem, Random& random) {
    // Whole numbers make many ties.
    const auto whole = [](Random& r) { return static_cast<double>(r.below(3)); };
    const auto w = problems::random_vector(problem.task()->dimension(), random, whole);
    for (std::size_t i = 0; i < problem.size(); ++i) {
      const Output output = predict(problem, i, w);
      const auto best = problems::enumerate(problem, i, w, 0);
      CHECK(output.score == best.score);
      CHECK(output.upper_bound == best.score);
      CHECK(problems::decoded(problem, output.bytes) == best.labels);
      distinct += std::ranges::any_of(best.labels, [](auto label) { return label > 0; });
    }
  });
  CHECK(distinct > 50);
}

TEST("sequence: all weights equal, label 0 wins everywhere") {
  Random random(12);
  const Problem problem = problems::make_problem({.sentences = 10, .labels = 5, .start_end = true}, random);
  const std::vector<double> w(problem.task()->dimension(), 0.5);
  for (std::size_t i = 0; i < problem.size(); ++i) {
    CHECK(std::ranges::all_of(predict(problem, i, w).bytes, [](auto label) { return label == 0; }));
  }
}

TEST("sequence: prediction with any weights attains the best score") {
  for_all_kinds(13, [](const Problem& problem, Random& random) {
    const auto w = problems::random_vector(problem.task()->dimension(), random, problems::uniform);
    for (std::size_t i = 0; i < problem.size(); ++i) {
      const Output output = predict(problem, i, w);
      CHECK_NEAR(output.score, problems::enumerate(problem, i, w, 0).score, 1e-12);
      CHECK_NEAR(problems::score(problem, i, problems::decoded(problem, output.bytes), w), output.score, 1e-12);
    }
  });
}

TEST("sequence: find returns the largest violation and the output that attains it") {
  std::size_t found_count = 0;
  for_all_kinds(14, [&](const Problem& problem, Random& random) {
    const auto task = problem.task();
    const auto scratch = task->make_scratch();
    const auto w = problems::random_vector(task->dimension(), random, problems::eighths);
    for (const double loss_scale : {0.0, 0.5, 1.0, 16.0}) {
      for (std::size_t i = 0; i < problem.size(); ++i) {
        CandidateBatch found;
        const double bound = task->find(i, w, {.loss_scale = loss_scale}, *scratch, found);
        const auto best = problems::enumerate(problem, i, w, loss_scale);
        CHECK(bound == best.score - problems::score(problem, i, problem.gold_of(i), w));
        CHECK(found.size() == (best.labels == problem.gold_of(i) ? 0 : 1));
        if (found.empty()) continue;
        ++found_count;
        CHECK(found[0].example == i);
        CHECK(problems::decoded(problem, found[0].output) == best.labels);
        CHECK(found[0].loss == problems::loss(problem, i, best.labels));
        CHECK(found[0].key == marginloom::output_key(found[0].output));
      }
    }
  });
  CHECK(found_count > 500);
}

TEST("sequence: the bound of find is loss minus w.difference, and its norm is right") {
  for_all_kinds(15, [](const Problem& problem, Random& random) {
    const auto task = problem.task();
    const auto scratch = task->make_scratch();
    const auto w = problems::random_vector(task->dimension(), random, problems::uniform);
    for (std::size_t i = 0; i < problem.size(); ++i) {
      CandidateBatch found;
      const double bound = task->find(i, w, {}, *scratch, found);
      if (found.empty()) continue;
      const Candidate candidate = found[0];
      CHECK(candidate.implicit == problem.dense);
      CHECK(candidate.implicit == (task->implicit() != nullptr));
      CHECK_NEAR(bound, candidate.loss - dot_difference(*task, candidate, w), 1e-12);
      const auto expected =
          problems::difference(problem, i, problems::decoded(problem, candidate.output), task->dimension());
      double norm = 0;
      for (const double value : expected) norm += value * value;
      CHECK(candidate.squared_norm == norm);
      std::vector<double> built(task->dimension(), 0.0);
      add_difference(*task, candidate, 1, WeightWriter{built.data()});
      CHECK(built == expected);
      CHECK(std::ranges::is_sorted(candidate.difference, std::ranges::less_equal{}, &marginloom::Entry::index) ||
            candidate.difference.size() < 2);
      CHECK(std::ranges::none_of(candidate.difference, [](const auto& entry) { return entry.value == 0; }));
    }
  });
}

TEST("sequence: candidates below min_violation are not built") {
  Random random(16);
  const Problem problem = problems::make_problem({.sentences = 20}, random);
  const auto task = problem.task();
  const auto scratch = task->make_scratch();
  const auto w = problems::random_vector(task->dimension(), random, problems::eighths);
  for (std::size_t i = 0; i < problem.size(); ++i) {
    CandidateBatch all;
    const double bound = task->find(i, w, {}, *scratch, all);
    for (const double beyond : {0.0, 0.125, std::numeric_limits<double>::infinity()}) {
      CandidateBatch some;
      CHECK(task->find(i, w, {.min_violation = bound + beyond}, *scratch, some) == bound);
      CHECK(some.size() == (beyond == 0 ? all.size() : 0));
    }
  }
}

TEST("sequence: a candidate rebuilt from its bytes equals the one found") {
  for_all_kinds(17, [](const Problem& problem, Random& random) {
    const auto task = problem.task();
    const auto scratch = task->make_scratch();
    const auto w = problems::random_vector(task->dimension(), random, problems::uniform);
    for (std::size_t i = 0; i < problem.size(); ++i) {
      CandidateBatch found;
      task->find(i, w, {}, *scratch, found);
      if (found.empty()) continue;
      CandidateBatch rebuilt;
      CHECK(task->candidate(i, found[0].output, *task->make_scratch(), rebuilt));
      CHECK(rebuilt.size() == 1);
      CHECK(equal(rebuilt[0], found[0]));
    }
  });
}

TEST("sequence: stored and implicit differences are the same") {
  Random random(18);
  std::size_t compared = 0;
  for (int repeat = 0; repeat < 20; ++repeat) {
    const Kind kind = repeat % 2 == 0 ? Kind::indicators : Kind::values;
    const Problem sparse = problems::make_problem({.labels = 4, .kind = kind, .start_end = repeat % 3 == 0}, random);
    const Problem dense = problems::dense_copy(sparse);
    const auto stored = sparse.task();
    const auto implicit = dense.task();
    const std::size_t dimension = stored->dimension();
    CHECK(implicit->dimension() == dimension);
    const auto w = problems::random_vector(dimension, random, problems::eighths);
    for (std::size_t i = 0; i < sparse.size(); ++i) {
      CandidateBatch a;
      CandidateBatch b;
      CHECK(stored->find(i, w, {}, *stored->make_scratch(), a) ==
            implicit->find(i, w, {}, *implicit->make_scratch(), b));
      CHECK(a.size() == b.size());
      if (a.empty()) continue;
      ++compared;
      CHECK(a[0].key == b[0].key && a[0].loss == b[0].loss && a[0].squared_norm == b[0].squared_norm);
      CHECK(b[0].implicit && b[0].difference.empty());
      CHECK(dot_difference(*implicit, b[0], w) == dot_difference(*stored, a[0], w));
      for (const bool atomic : {false, true}) {
        std::vector<double> expected = w;
        std::vector<double> moved = w;
        add_difference(*stored, a[0], 0.5, WeightWriter{expected.data(), atomic});
        add_difference(*implicit, b[0], 0.5, WeightWriter{moved.data(), atomic});
        CHECK(moved == expected);
      }
    }
  }
  CHECK(compared > 50);
}

TEST("sequence: gather, scatter and products of several outputs are those of the differences") {
  Random random(19);
  for (int repeat = 0; repeat < 10; ++repeat) {
    const Problem problem = problems::make_problem(
        {.labels = 4, .kind = Kind::dense, .start_end = repeat % 2 == 0, .label_costs = true}, random);
    const auto task = problem.task();
    const auto scratch = task->make_scratch();
    const auto w = problems::random_vector(task->dimension(), random, problems::eighths);
    const std::vector<double> steps{0.5, 0, -1.25, 2};
    for (std::size_t i = 0; i < problem.size(); ++i) {
      std::vector<std::vector<std::uint8_t>> labels(steps.size());
      std::vector<std::vector<double>> differences;
      std::vector<marginloom::ByteView> outputs;
      std::vector<double> expected = w;
      for (std::size_t j = 0; j < steps.size(); ++j) {
        for (std::size_t t = 0; t < problem.length(i); ++t) {
          labels[j].push_back(static_cast<std::uint8_t>(random.below(4)));
        }
        outputs.emplace_back(labels[j]);
        differences.push_back(
            problems::difference(problem, i, problems::decoded(problem, labels[j]), task->dimension()));
        for (std::size_t k = 0; k < w.size(); ++k) expected[k] += steps[j] * differences[j][k];
      }
      const auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
        return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
      };
      std::vector<double> values(steps.size());
      task->gather(i, outputs, w, values);
      for (std::size_t j = 0; j < steps.size(); ++j) {
        CHECK(values[j] == dot(w, differences[j]));
        std::vector<double> products(steps.size());
        task->products(i, outputs[j], outputs, *scratch, products);
        for (std::size_t k = 0; k < steps.size(); ++k) CHECK(products[k] == dot(differences[j], differences[k]));
      }
      for (const bool atomic : {false, true}) {
        std::vector<double> moved = w;
        task->scatter(i, outputs, steps, WeightWriter{moved.data(), atomic});
        CHECK(moved == expected);
      }
    }
  }
}
