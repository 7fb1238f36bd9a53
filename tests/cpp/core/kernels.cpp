#include "core/kernels.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "problems.hpp"
#include "test.hpp"

using marginloom::Kernels;
using marginloom::Random;
using problems::same_bits;

namespace {

// Inputs of every kernel for one shape. Weights begin in the middle of a cache line.
struct Inputs {
  std::size_t labels;
  std::size_t stride;
  std::size_t row_count;
  std::vector<double> rows;
  std::vector<std::uint32_t> row_of;
  std::vector<float> values;
  std::vector<float> matrix;  // row_count columns
  std::vector<double> start;

  Inputs(std::size_t labels, Random& random) : labels(labels), stride(marginloom::padded(labels)) {
    stride += 8 * random.below(3);
    row_count = labels + random.below(9);
    rows = problems::random_vector(1 + row_count * stride, random, problems::uniform);
    for (double& weight : rows) {
      if (random.below(20) == 0) weight = random.below(2) == 0 ? 0.0 : -0.0;
    }
    row_of.resize(random.below(12));
    for (auto& row : row_of) row = static_cast<std::uint32_t>(random.below(row_count));
    values.resize(std::max(row_count, row_of.size()));
    for (float& value : values) value = static_cast<float>(problems::uniform(random));
    matrix.resize(random.below(7) * row_count);
    for (float& value : matrix) value = static_cast<float>(problems::uniform(random));
    start = problems::random_vector(stride, random, problems::uniform);
  }
  [[nodiscard]] const double* weights() const { return rows.data() + 1; }
  [[nodiscard]] std::vector<double> repeated_start(std::size_t times) const {
    std::vector<double> result;
    for (std::size_t e = 0; e < times; ++e) result.insert(result.end(), start.begin(), start.end());
    return result;
  }
};

using Results = std::vector<std::vector<double>>;

Results run(const Kernels& kernels, const Inputs& in) {
  Results results(11, in.start);
  kernels.add_rows(in.weights(), in.row_of.data(), in.row_of.size(), in.stride, results[0].data());
  kernels.add_scaled_rows(in.weights(), in.row_of.data(), in.values.data(), in.row_of.size(), in.stride,
                          results[1].data());
  kernels.add_scaled_rows(in.weights(), nullptr, in.values.data(), in.row_count, in.stride, results[2].data());
  results.emplace_back(in.stride);
  kernels.max_plus(in.start.data(), in.weights(), nullptr, in.labels, in.stride, results[11].data(), results[3].data());
  results[4].clear();
  for (const std::size_t size : {std::size_t{0}, in.labels, in.stride, in.rows.size() - 1}) {
    results[4].push_back(kernels.squared_norm(in.weights(), size));
  }
  const std::vector<double> values(in.values.begin(), in.values.end());
  const std::vector<double> matrix(in.matrix.begin(), in.matrix.end());
  const std::size_t examples = matrix.size() / in.row_count;
  kernels.add_scaled_rows_64(in.weights(), in.row_of.data(), values.data(), in.row_of.size(), in.stride,
                             results[5].data());
  kernels.add_scaled_rows_64(in.weights(), nullptr, values.data(), in.row_count, in.stride, results[6].data());
  results[7] = results[8] = in.rows;
  kernels.add_to_rows(results[7].data() + 1, nullptr, in.values.data(), in.row_count, in.stride, in.start.data());
  const std::uint32_t one = 0;
  kernels.add_to_rows_64(results[8].data() + 1, &one, values.data(), 1, in.stride, in.start.data());
  results[9] = results[10] = in.repeated_start(examples);
  kernels.add_product(in.weights(), in.matrix.data(), examples, in.row_count, in.stride, results[9].data());
  kernels.add_product_64(in.weights(), matrix.data(), examples, in.row_count, in.stride, results[10].data());
  return results;
}

Results run_naively(const Inputs& in) {
  Results results(11, in.start);
  std::vector<double> bests;
  for (std::size_t c = 0; c < in.stride; ++c) {
    for (std::size_t j = 0; j < in.row_of.size(); ++j) {
      results[0][c] += in.weights()[in.row_of[j] * in.stride + c];
      results[1][c] += in.values[j] * in.weights()[in.row_of[j] * in.stride + c];
    }
    for (std::size_t j = 0; j < in.row_count; ++j) {
      results[2][c] += in.values[j] * in.weights()[j * in.stride + c];
    }
    double best = -std::numeric_limits<double>::infinity();
    for (std::size_t p = 0; p < in.labels; ++p) best = std::max(best, in.start[p] + in.weights()[p * in.stride + c]);
    results[3][c] += best;
    bests.push_back(best);
  }
  results.push_back(bests);
  results[4].clear();
  for (const std::size_t size : {std::size_t{0}, in.labels, in.stride, in.rows.size() - 1}) {
    double sum = 0;
    for (std::size_t k = 0; k < size; ++k) sum += in.weights()[k] * in.weights()[k];
    results[4].push_back(sum);
  }
  results[5] = results[1];
  results[6] = results[2];
  results[7] = results[8] = in.rows;
  for (std::size_t c = 0; c < in.stride; ++c) {
    for (std::size_t j = 0; j < in.row_count; ++j) results[7][1 + j * in.stride + c] += in.values[j] * in.start[c];
    results[8][1 + c] += in.values[0] * in.start[c];
  }
  const std::size_t examples = in.matrix.size() / in.row_count;
  results[9] = in.repeated_start(examples);
  for (std::size_t e = 0; e < examples; ++e) {
    for (std::size_t j = 0; j < in.row_count; ++j) {
      for (std::size_t c = 0; c < in.stride; ++c) {
        results[9][e * in.stride + c] += in.matrix[e * in.row_count + j] * in.weights()[j * in.stride + c];
      }
    }
  }
  results[10] = results[9];
  return results;
}

// The kernels for rows in single precision, on the same inputs.
using SingleResults = std::vector<std::vector<float>>;

struct SingleInputs {
  std::size_t stride;
  std::vector<float> rows;
  std::vector<float> start;

  explicit SingleInputs(const Inputs& in) : stride(2 * in.stride) {
    for (std::size_t k = 0; k < in.row_count * stride; ++k)
      rows.push_back(in.values[k % in.values.size()] + 0.1F * static_cast<float>(k % 17));
    for (std::size_t c = 0; c < stride; ++c) start.push_back(static_cast<float>(in.start[c / 2]));
  }
  [[nodiscard]] std::vector<float> repeated_start(std::size_t times) const {
    std::vector<float> result;
    for (std::size_t e = 0; e < times; ++e) result.insert(result.end(), start.begin(), start.end());
    return result;
  }
};

SingleResults run_singles(const Kernels& kernels, const Inputs& in, const SingleInputs& single) {
  const std::vector<double> values(in.values.begin(), in.values.end());
  const std::size_t examples = in.matrix.size() / in.row_count;
  SingleResults results(2, single.start);
  kernels.add_scaled_singles(single.rows.data(), in.row_of.data(), in.values.data(), in.row_of.size(), single.stride,
                             results[0].data());
  kernels.add_scaled_singles_64(single.rows.data(), nullptr, values.data(), in.row_count, single.stride,
                                results[1].data());
  for (const std::size_t count : {std::size_t{0}, in.row_count / 2, in.row_count}) {
    results.push_back(single.repeated_start(examples));
    kernels.add_singles_product(single.rows.data(), in.matrix.data(), in.row_count, examples, count, single.stride,
                                results.back().data());
  }
  return results;
}

SingleResults run_singles_naively(const Inputs& in, const SingleInputs& single) {
  SingleResults results(2, single.start);
  const auto row = [&](std::size_t j, std::size_t c) { return single.rows[j * single.stride + c]; };
  for (std::size_t c = 0; c < single.stride; ++c) {
    for (std::size_t j = 0; j < in.row_of.size(); ++j) results[0][c] += in.values[j] * row(in.row_of[j], c);
    for (std::size_t j = 0; j < in.row_count; ++j) results[1][c] += in.values[j] * row(j, c);
  }
  const std::size_t examples = in.matrix.size() / in.row_count;
  for (const std::size_t count : {std::size_t{0}, in.row_count / 2, in.row_count}) {
    auto& sums = results.emplace_back(single.repeated_start(examples));
    for (std::size_t e = 0; e < examples; ++e) {
      for (std::size_t c = 0; c < single.stride; ++c) {
        for (std::size_t j = 0; j < count; ++j) {
          sums[e * single.stride + c] += in.matrix[e * in.row_count + j] * row(j, c);
        }
      }
    }
  }
  return results;
}

const Kernels& named(std::string_view name) {
  CHECK(marginloom::select_kernels(name));
  CHECK(marginloom::kernels().name == name);
  return marginloom::kernels();
}

// The tests below choose kernels for the whole process; this puts the first choice back.
class Restore {
 public:
  ~Restore() { (void)marginloom::select_kernels(name_); }

 private:
  std::string name_ = marginloom::kernels().name;
};

}  // namespace

TEST("kernels: baseline does what naive loops do") {
  const Restore restore;
  const Kernels& baseline = named("baseline");
  Random random(1);
  for (std::size_t labels = 1; labels <= 130; ++labels) {
    const Inputs inputs(labels, random);
    const Results found = run(baseline, inputs);
    const Results expected = run_naively(inputs);
    for (std::size_t k = 0; k < found.size(); ++k) CHECK(k == 4 || same_bits(found[k], expected[k]));
    for (std::size_t k = 0; k < 4; ++k) CHECK_NEAR(found[4][k], expected[4][k], 1e-12 * expected[4][k]);
    const SingleInputs single(inputs);
    CHECK(run_singles(baseline, inputs, single) == run_singles_naively(inputs, single));
  }
}

TEST("kernels: every instruction set gives the bits of the baseline") {
  const Restore restore;
  CHECK(marginloom::available_kernels().back() == "baseline");
  Random random(2);
  for (std::size_t repeat = 0; repeat < 3; ++repeat) {
    for (std::size_t labels = 1; labels <= 130; ++labels) {
      const Inputs inputs(labels, random);
      const Results expected = run(named("baseline"), inputs);
      const SingleInputs single(inputs);
      const SingleResults singles = run_singles(named("baseline"), inputs, single);
      for (const auto name : marginloom::available_kernels()) {
        const Results found = run(named(name), inputs);
        for (std::size_t k = 0; k < found.size(); ++k) CHECK(same_bits(found[k], expected[k]));
        CHECK(run_singles(named(name), inputs, single) == singles);
      }
    }
  }
}

TEST("kernels: squared_norm has the same bits for every length") {
  const Restore restore;
  Random random(3);
  const auto values = problems::random_vector(200, random, problems::uniform);
  for (std::size_t size = 0; size < values.size(); ++size) {
    const double expected = named("baseline").squared_norm(values.data(), size);
    for (const auto name : marginloom::available_kernels()) {
      CHECK(named(name).squared_norm(values.data(), size) == expected);
    }
  }
}

TEST("kernels: row_products has the same bits for every length") {
  const Restore restore;
  Random random(4);
  constexpr std::size_t stride = 50;
  const auto rows = problems::random_vector(marginloom::product_rows * stride, random, problems::uniform);
  const auto vector = problems::random_vector(stride, random, problems::uniform);
  const auto products = [&](std::string_view name, std::size_t size) {
    std::vector<double> result(marginloom::product_rows);
    named(name).row_products(rows.data(), stride, vector.data(), size, result.data());
    return result;
  };
  for (std::size_t size = 0; size <= stride; ++size) {
    const auto expected = products("baseline", size);
    double sum = 0;
    for (std::size_t k = 0; k < size; ++k) sum += rows[2 * stride + k] * vector[k];
    CHECK_NEAR(expected[2], sum, 1e-12);
    for (const auto name : marginloom::available_kernels()) CHECK(products(name, size) == expected);
  }
}

TEST("kernels: forbidden transitions of minus infinity stay forbidden") {
  const Restore restore;
  constexpr double never = -std::numeric_limits<double>::infinity();
  std::vector<double> transitions(8 * 8, 0.0);
  for (std::size_t p = 0; p < 3; ++p) transitions[p * 8 + 1] = never;
  for (const auto name : marginloom::available_kernels()) {
    const std::vector<double> previous{1, 2, 3};
    std::vector<double> best(8);
    std::vector<double> next(8, 0.5);
    named(name).max_plus(previous.data(), transitions.data(), nullptr, 3, 8, best.data(), next.data());
    CHECK(next[0] == 3.5);
    CHECK(next[1] == never);
    CHECK(next[2] == 3.5);
  }
}

TEST("kernels: labels out of reach are those that are never best, and all versions agree on them") {
  const Restore restore;
  Random random(3);
  std::size_t left_out = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t labels = 1 + random.below(150);
    const std::size_t stride = marginloom::padded(labels);
    const auto transitions = problems::random_vector(labels * stride, random, problems::uniform);
    auto previous = problems::random_vector(stride, random, problems::uniform);
    for (double& score : previous) score *= 5;
    if (trial % 10 == 0) std::ranges::fill(previous, -std::numeric_limits<double>::infinity());
    std::vector<std::uint32_t> expected;
    std::vector<double> best(stride);
    std::vector<double> next(stride);
    named("baseline").max_plus(previous.data(), transitions.data(), nullptr, labels, stride, best.data(), next.data());
    for (const auto name : marginloom::available_kernels()) {
      const Kernels& kernels = named(name);
      std::vector<double> lowest(stride, -1e300);
      std::vector<double> highest(stride, -1e300);
      std::vector<std::uint32_t> from(stride);
      kernels.row_bounds(transitions.data(), labels, stride, lowest.data(), highest.data());
      from.resize(kernels.labels_within_reach(previous.data(), lowest.data(), highest.data(), labels, from.data()));
      CHECK(std::ranges::is_sorted(from));
      CHECK(!from.empty() && from.back() < labels);
      left_out += labels - from.size();
      if (expected.empty()) expected = from;
      CHECK(from == expected);
      std::vector<double> some_best(stride);
      std::vector<double> some_next(stride);
      kernels.max_plus(previous.data(), transitions.data(), from.data(), from.size(), stride, some_best.data(),
                       some_next.data());
      CHECK(same_bits(some_best, best));
      CHECK(same_bits(some_next, next));
    }
  }
  CHECK(left_out > 0);
}

TEST("kernels: all versions extend prefixes alike, and count alike what is greater") {
  const Restore restore;
  Random random(9);
  for (int trial = 0; trial < 100; ++trial) {
    const Inputs in(1 + random.below(100), random);
    const std::size_t count = in.row_of.size();
    const auto previous = problems::random_vector(count, random, problems::uniform);
    std::vector<double> sums;
    for (std::size_t j = 0; j < count; ++j) {
      const double* const row = in.weights() + in.row_of[j] * in.stride;
      for (std::size_t c = 0; c < in.stride; ++c) sums.push_back(previous[j] + (in.start[c] + row[c]));
    }
    std::vector<double> values = in.start;
    values[random.below(values.size())] = values[random.below(values.size())];
    std::vector<std::uint32_t> above;
    for (const double one : values) {
      above.push_back(static_cast<std::uint32_t>(std::ranges::count_if(values, [=](double v) { return v > one; })));
    }
    for (const auto name : marginloom::available_kernels()) {
      const Kernels& kernels = named(name);
      std::vector<double> extended(sums.size());
      kernels.each_plus(previous.data(), in.start.data(), in.weights(), in.row_of.data(), count, in.stride,
                        extended.data());
      CHECK(same_bits(extended, sums));
      std::vector<std::uint32_t> counted(values.size());
      kernels.count_above(values.data(), values.size(), counted.data());
      CHECK(counted == above);
    }
  }
}

TEST("kernels: an unknown name is refused and changes nothing") {
  const std::string before = marginloom::kernels().name;
  CHECK(!marginloom::select_kernels("abacus"));
  CHECK(marginloom::kernels().name == before);
}
