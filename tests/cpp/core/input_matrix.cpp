// Parts of inputs and their products, against the inputs one number at a time.
#include "core/input_matrix.hpp"

#include <vector>

#include "core/input_products.hpp"
#include "core/random.hpp"
#include "problems.hpp"
#include "test.hpp"

using namespace marginloom;

namespace {

// A matrix in all kinds: sparse or dense, single or double precision, with a bias or without.
struct Matrix {
  std::size_t rows;
  std::size_t columns;
  bool dense;
  bool single;
  double bias;
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint32_t> indices;
  std::vector<double> doubles;
  std::vector<float> singles;

  Matrix(std::size_t rows, std::size_t columns, unsigned kind, Random& random)
      : rows(rows), columns(columns), dense(kind & 1), single(kind & 2), bias(kind & 4 ? 0.5 : 0) {
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t f = 0; f < columns; ++f) {
        const double value = random.below(2) * problems::eighths(random);
        if (!dense && value == 0) continue;
        indices.push_back(static_cast<std::uint32_t>(f));
        if (single) singles.push_back(static_cast<float>(value));
        if (!single) doubles.push_back(value);
      }
      offsets.push_back(indices.size());
    }
  }
  [[nodiscard]] InputMatrix inputs() const {
    return InputMatrix(InputData{rows, columns, dense, offsets, indices, singles, doubles, bias});
  }
  // One row, with the bias, in full.
  [[nodiscard]] static std::vector<double> spread(const InputMatrix& inputs, std::size_t i) {
    std::vector<double> result(inputs.width());
    inputs.visit(i, [&](std::size_t feature, double value) { result[feature] += value; });
    return result;
  }
};

constexpr unsigned kinds = 8;

}  // namespace

TEST("input matrix: ranges of columns take a row apart, and nothing else") {
  Random random(3);
  for (unsigned kind = 0; kind < kinds; ++kind) {
    for (const std::size_t count : {1U, 2U, 5U, 40U}) {
      const Matrix matrix(30, 11, kind, random);
      const InputMatrix inputs = matrix.inputs();
      constexpr std::size_t stride = 8;
      const auto weights = problems::random_vector(inputs.width() * stride, random, problems::eighths);
      const auto step = problems::random_vector(stride, random, problems::eighths);
      const auto ranges = inputs.divided(count);
      CHECK(ranges.size() == count);
      CHECK(ranges.front().begin == 0 && ranges.back().end == inputs.width());
      for (std::size_t i = 0; i < matrix.rows; ++i) {
        std::vector<double> whole(stride), part(stride), sum(stride);
        inputs.scores(i, weights.data(), stride, whole.data());
        auto moved = weights, expected = weights;
        inputs.add_to_rows(i, step.data(), stride, expected.data());
        for (std::size_t r = 0; r < count; ++r) {
          CHECK(r == 0 || ranges[r].begin == ranges[r - 1].end);
          inputs.scores(i, ranges[r], weights.data(), stride, part.data());
          for (std::size_t c = 0; c < stride; ++c) sum[c] += part[c];
          const auto before = moved;
          inputs.add_to_rows(i, ranges[r], step.data(), stride, moved.data());
          for (std::size_t k = 0; k < moved.size(); ++k) {
            CHECK(moved[k] == before[k] || (k / stride >= ranges[r].begin && k / stride < ranges[r].end));
          }
        }
        CHECK(sum == whole);  // eighths add up without rounding
        CHECK(moved == expected);
      }
    }
  }
}

TEST("input matrix: ranges have about the same number of entries") {
  Random random(4);
  const Matrix matrix(400, 64, 0, random);
  const InputMatrix inputs = matrix.inputs();
  for (const ColumnRange& range : inputs.divided(4)) {
    std::size_t entries = 0;
    for (const auto& segment : range.segments) entries += segment.count;
    CHECK_NEAR(static_cast<double>(entries), static_cast<double>(matrix.indices.size()) / 4,
               static_cast<double>(matrix.indices.size()) / 20);
  }
}

TEST("input products: those of a group, for groups that follow each other") {
  Random random(5);
  for (unsigned kind = 0; kind < kinds; ++kind) {
    for (const std::size_t columns : {3U, 900U}) {  // many entries for each feature, and few
      const Matrix matrix(40, columns, kind, random);
      const InputMatrix inputs = matrix.inputs();
      InputProducts products(inputs, 7);
      for (const std::size_t size : {7U, 1U, 5U, 7U}) {
        std::vector<std::size_t> group;
        while (group.size() < size) group.push_back(random.below(matrix.rows));
        products.set_group(group);
        std::vector<float> found(size);
        for (std::size_t i = 0; i < matrix.rows; ++i) {
          products.multiply(i, found);
          const auto x = Matrix::spread(inputs, i);
          for (std::size_t j = 0; j < size; ++j) {
            const auto z = Matrix::spread(inputs, group[j]);
            double expected = 0;
            for (std::size_t f = 0; f < x.size(); ++f) expected += x[f] * z[f];
            CHECK_NEAR(found[j], expected, 1e-5 * (1 + std::abs(expected)));
          }
        }
      }
    }
  }
}
