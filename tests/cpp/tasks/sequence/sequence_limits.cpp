// Sequence tasks at the edges: broken data and bytes, many labels, empty and very long sentences.
#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>

#include "problems.hpp"
#include "tasks/sequence/sequence.hpp"
#include "test.hpp"

using marginloom::CandidateBatch;
using marginloom::LabelIndex;
using marginloom::Output;
using marginloom::Random;
using problems::Kind;
using problems::Problem;

namespace {

Problem small_problem(Kind kind) {
  Random random(20);
  Problem problem = problems::make_problem({.sentences = 5, .labels = 3, .features = 4, .kind = kind}, random);
  CHECK(problem.gold.size() > 3 && (kind == Kind::dense || problem.features.size() > 3));
  return problem;
}

// The task must refuse the problem after `damage`, and accept it before.
void check_refused(Kind kind, const char* text, const std::function<void(Problem&)>& damage) {
  Problem problem = small_problem(kind);
  CHECK(problem.task()->size() == 5);
  damage(problem);
  CHECK_THROWS(std::invalid_argument, problem.task(), text);
}

// One sentence of random gold labels and features.
Problem one_sentence(std::size_t length, std::size_t labels, Random& random) {
  Problem problem;
  problem.feature_count = 10;
  problem.label_count = labels;
  for (std::size_t t = 0; t < length; ++t) {
    problem.features.push_back(static_cast<std::uint32_t>(random.below(10)));
    problem.tokens.push_back(problem.features.size());
    problem.gold.push_back(static_cast<LabelIndex>(random.below(labels)));
  }
  problem.sentences.push_back(length);
  return problem;
}

// Viterbi's algorithm with back pointers, for sentences too long to enumerate.
problems::Best viterbi(const Problem& problem, std::span<const double> w, double loss_scale) {
  const std::size_t stride = marginloom::padded(problem.label_count);
  const std::size_t labels = problem.label_count;
  std::vector<double> scores(labels, 0.0);
  std::vector<std::vector<LabelIndex>> from;
  for (std::size_t t = 0; t < problem.gold.size(); ++t) {
    std::vector<double> next(labels, 0.0);
    from.emplace_back(labels, LabelIndex{0});
    for (std::size_t c = 0; c < labels; ++c) {
      for (std::size_t p = 1; t > 0 && p < labels; ++p) {
        const std::size_t best = from[t][c];
        if (scores[p] + w[p * stride + c] > scores[best] + w[best * stride + c])
          from[t][c] = static_cast<LabelIndex>(p);
      }
      if (t > 0) next[c] = scores[from[t][c]] + w[from[t][c] * stride + c];
      next[c] += w[(labels + 2 + problem.features[t]) * stride + c] + (c == problem.gold[t] ? 0 : loss_scale);
    }
    scores = next;
  }
  problems::Best best{std::vector<LabelIndex>(problem.gold.size()), 0};
  std::size_t label = static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin());
  best.score = scores[label];
  for (std::size_t t = problem.gold.size(); t-- > 0; label = from[t][label])
    best.labels[t] = static_cast<LabelIndex>(label);
  return best;
}

}  // namespace

TEST("sequence: broken data are refused") {
  const auto sparse = [](const char* text, const std::function<void(Problem&)>& damage) {
    check_refused(Kind::values, text, damage);
  };
  sparse("1 to 65,536 labels", [](Problem& p) { p.label_count = 0; });
  sparse("1 to 65,536 labels", [](Problem& p) { p.label_count = 65537; });
  sparse("weights", [](Problem& p) { p.label_count = 65536; });
  sparse("sentence offsets", [](Problem& p) { p.sentences.clear(); });
  sparse("sentence offsets", [](Problem& p) { p.sentences[0] = 1; });
  sparse("sentence offsets", [](Problem& p) { p.sentences[2] = p.sentences.back() + 1; });
  sparse("token offsets", [](Problem& p) { p.sentences.push_back(p.sentences.back() + 1); });
  sparse("token offsets", [](Problem& p) { p.tokens.pop_back(); });
  sparse("token offsets", [](Problem& p) { p.tokens.clear(); });
  sparse("token offsets", [](Problem& p) { p.tokens[0] = 1; });
  sparse("token offsets", [](Problem& p) { ++p.tokens.back(); });
  sparse("token offsets", [](Problem& p) { p.tokens[1] = p.features.size() + 1; });
  sparse("differ in length", [](Problem& p) { p.values.pop_back(); });
  sparse("beyond the number of features", [](Problem& p) { p.features[2] = 4; });
  sparse("NaN or infinite", [](Problem& p) { p.values[2] = std::numeric_limits<float>::quiet_NaN(); });
  sparse("NaN or infinite", [](Problem& p) { p.values[2] = -std::numeric_limits<float>::infinity(); });
  sparse("one gold label per token", [](Problem& p) { p.gold.pop_back(); });
  sparse("beyond the number of labels", [](Problem& p) { p.gold[1] = 3; });
  sparse("one cost per label", [](Problem& p) { p.options.label_costs = {1, 2}; });
  sparse("finite and not negative", [](Problem& p) { p.options.label_costs = {1, -1, 1}; });
  sparse("finite and not negative",
         [](Problem& p) { p.options.label_costs = {1, 1, std::numeric_limits<double>::quiet_NaN()}; });
  check_refused(Kind::dense, "row for every token", [](Problem& p) { p.values.pop_back(); });
  check_refused(Kind::dense, "NaN or infinite",
                [](Problem& p) { p.values[0] = std::numeric_limits<float>::quiet_NaN(); });
}

TEST("sequence: more weights than an index can name are refused") {
  check_refused(Kind::values, "weights", [](Problem& p) { p.feature_count = std::size_t{1} << 29; });
}

TEST("sequence: a product of features and labels that overflows is refused") {
  check_refused(Kind::values, "weights", [](Problem& p) { p.feature_count = std::size_t{1} << 61; });
}

TEST("sequence: a product of tokens and features that overflows is refused") {
  check_refused(Kind::dense, "row for every token", [](Problem& p) {
    p.sentences.back() = std::uint64_t{1} << 63;
    p.feature_count = 2;
    p.values.clear();
    p.gold.clear();
  });
}

TEST("sequence: broken bytes are refused") {
  const Problem problem = small_problem(Kind::indicators);
  const auto task = problem.task();
  const auto scratch = task->make_scratch();
  CandidateBatch sink;
  for (std::size_t i = 0; i < problem.size(); ++i) {
    const std::size_t length = problem.length(i);
    std::vector<std::uint8_t> bytes(length + 1, 0);
    CHECK_THROWS(std::invalid_argument, task->candidate(i, bytes, *scratch, sink), "wrong length");
    if (length == 0) continue;
    bytes.resize(length - 1);
    CHECK_THROWS(std::invalid_argument, task->candidate(i, bytes, *scratch, sink), "wrong length");
    bytes.assign(length, 2);
    bytes.back() = 3;
    CHECK_THROWS(std::invalid_argument, task->candidate(i, bytes, *scratch, sink), "has label 3 of 3");
  }
  CHECK(sink.empty());
}

TEST("sequence: a task without gold labels predicts and says that it cannot be trained on") {
  Problem problem = small_problem(Kind::indicators);
  Random random(21);
  const auto w = problems::random_vector(problem.task()->dimension(), random, problems::eighths);
  CHECK(problem.task()->capabilities().gold);
  const auto expected = problems::enumerate(problem, 1, w, 0);
  problem.gold.clear();
  CHECK(!problem.task()->capabilities().gold);
  std::vector<Output> outputs;
  problem.task()->predict(1, w, 1, *problem.task()->make_scratch(), outputs);
  CHECK(problems::decoded(problem, outputs[0].bytes) == expected.labels);
}

TEST("sequence: an empty sentence has one output and no violation") {
  Problem problem;
  problem.sentences = {0, 0};
  problem.feature_count = 2;
  problem.label_count = 3;
  for (const bool start_end : {false, true}) {
    problem.options.start_end = start_end;
    const auto task = problem.task();
    const std::vector<double> w(task->dimension(), 1.0);
    const auto scratch = task->make_scratch();
    std::vector<Output> outputs;
    task->predict(0, w, 1, *scratch, outputs);
    CHECK(outputs.size() == 1 && outputs[0].bytes.empty() && outputs[0].score == 0);
    CandidateBatch found;
    CHECK(task->find(0, w, {}, *scratch, found) == 0);
    CHECK(found.empty());
  }
}

TEST("sequence: labels beyond 256 take two bytes") {
  Random random(22);
  for (const std::size_t labels : {256, 257, 300}) {
    const Problem problem = one_sentence(2, labels, random);
    const auto task = problem.task();
    const auto scratch = task->make_scratch();
    CHECK(task->bytes_per_label() == (labels > 256 ? 2 : 1));
    auto w = problems::random_vector(task->dimension(), random, problems::eighths);
    w[(labels + 2 + problem.features[0]) * task->stride() + labels - 1] = 100;  // so that a label of two bytes wins
    const auto best = problems::enumerate(problem, 0, w, 1);
    CHECK(best.labels[0] == labels - 1 || problem.gold[0] == labels - 1);
    CandidateBatch found;
    CHECK(task->find(0, w, {}, *scratch, found) == best.score - problems::score(problem, 0, problem.gold, w));
    CHECK(found.size() == 1);
    CHECK(problems::decoded(problem, found[0].output) == best.labels);
    CandidateBatch rebuilt;
    task->candidate(0, found[0].output, *scratch, rebuilt);
    CHECK(rebuilt[0].loss == found[0].loss && rebuilt[0].squared_norm == found[0].squared_norm);
    if (labels == 256) continue;
    const std::vector<std::uint8_t> beyond{0, 0, static_cast<std::uint8_t>(labels & 255), 1};
    CHECK_THROWS(std::invalid_argument, task->candidate(0, beyond, *scratch, rebuilt), "has label");
    CHECK_THROWS(std::invalid_argument, task->candidate(0, std::vector<std::uint8_t>{0, 0}, *scratch, rebuilt),
                 "length");
  }
}

TEST("sequence: a sentence of 5000 tokens is decoded by every instruction set as by a plain Viterbi") {
  Random random(23);
  const Problem problem = one_sentence(5000, 12, random);
  const auto task = problem.task();
  const auto scratch = task->make_scratch();
  const auto w = problems::random_vector(task->dimension(), random, problems::eighths);
  const std::string before = marginloom::kernels().name;
  for (const auto name : marginloom::available_kernels()) {
    CHECK(marginloom::select_kernels(name));
    std::vector<Output> outputs;
    task->predict(0, w, 1, *scratch, outputs);
    const auto plain = viterbi(problem, w, 0);
    CHECK(outputs[0].score == plain.score);
    CHECK(problems::decoded(problem, outputs[0].bytes) == plain.labels);
    const auto augmented = viterbi(problem, w, 1);
    CandidateBatch found;
    CHECK(task->find(0, w, {}, *scratch, found) == augmented.score - problems::score(problem, 0, problem.gold, w));
    CHECK(problems::decoded(problem, found[0].output) == augmented.labels);
    CHECK(found[0].loss == problems::loss(problem, 0, augmented.labels));
  }
  CHECK(marginloom::select_kernels(before));
}
