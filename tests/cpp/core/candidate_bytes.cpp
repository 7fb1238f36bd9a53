// Candidates as bytes and back.
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

#include "core/candidate.hpp"
#include "core/random.hpp"
#include "problems.hpp"
#include "test.hpp"

using marginloom::ByteView;
using marginloom::Candidate;
using marginloom::CandidateBatch;
using marginloom::Entry;
using marginloom::output_key;
using marginloom::Random;

namespace {

constexpr std::size_t examples = 50;
constexpr std::size_t dimension = 1000;

// Candidates with differences of whole numbers, of numbers in single precision, or of any; every fifth has none.
CandidateBatch some_candidates(std::uint64_t seed, double (*value)(Random&)) {
  Random random(seed);
  CandidateBatch batch;
  for (std::size_t k = 0; k < 30; ++k) {
    std::vector<Entry> difference;
    for (marginloom::WeightIndex index = 0; index < dimension && k % 5 != 4; index += 1 + random.below(300)) {
      difference.push_back({index, value(random)});
    }
    std::vector<std::uint8_t> output(random.below(9));
    for (auto& byte : output) byte = static_cast<std::uint8_t>(random.below(256));
    batch.accept({.example = random.below(examples),
                  .loss = problems::uniform(random),
                  .squared_norm = std::abs(problems::uniform(random)),
                  .key = output_key(output),
                  .output = output,
                  .difference = difference,
                  .implicit = k % 5 == 4});
  }
  return batch;
}

bool same(const CandidateBatch& a, const CandidateBatch& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const Candidate x = a[k];
    const Candidate y = b[k];
    if (x.example != y.example || x.loss != y.loss || x.squared_norm != y.squared_norm || x.key != y.key) return false;
    if (x.implicit != y.implicit || !std::ranges::equal(x.output, y.output)) return false;
    const auto alike = [](const Entry& p, const Entry& q) {
      return p.index == q.index && std::memcmp(&p.value, &q.value, sizeof p.value) == 0;
    };
    if (!std::ranges::equal(x.difference, y.difference, alike)) return false;
  }
  return true;
}

double whole(Random& random) {
  return static_cast<double>(random.below(255)) - 127;
}
double single(Random& random) {
  return static_cast<double>(static_cast<float>(problems::uniform(random)));
}
double half_zero(Random& random) {
  return random.below(2) == 0 ? -0.0 : 1.0;  // a whole number that whole numbers do not keep
}

}  // namespace

TEST("candidate bytes: candidates come back as they were, in as few bytes as their values need") {
  CHECK(same(CandidateBatch::from_bytes(CandidateBatch().to_bytes(), 0, 0), CandidateBatch()));
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<std::size_t> sizes;
    for (const auto value : {whole, single, problems::uniform, half_zero}) {
      const CandidateBatch batch = some_candidates(seed, value);
      const auto bytes = batch.to_bytes();
      CHECK(same(CandidateBatch::from_bytes(bytes, examples, dimension), batch));
      sizes.push_back(bytes.size());
    }
    CHECK(sizes[0] < sizes[1] && sizes[1] < sizes[2]);
  }
}

TEST("candidate bytes: bytes that are not those of candidates are refused") {
  const auto bytes = some_candidates(1, single).to_bytes();
  const auto refused = [](ByteView some, std::size_t example_count, std::size_t weights) {
    CHECK_THROWS(std::invalid_argument, (void)CandidateBatch::from_bytes(some, example_count, weights),
                 "not those of candidates");
  };
  for (std::size_t size = 0; size < bytes.size(); ++size) refused(ByteView(bytes).first(size), examples, dimension);
  refused(bytes, 2, dimension);
  refused(bytes, examples, 10);
  // Whatever a byte is replaced by, it is refused or a batch of candidates that make sense.
  Random random(2);
  for (std::size_t place = 0; place < bytes.size(); ++place) {
    auto damaged = bytes;
    damaged[place] = static_cast<std::uint8_t>(random.below(256));
    try {
      const CandidateBatch batch = CandidateBatch::from_bytes(damaged, examples, dimension);
      for (std::size_t k = 0; k < batch.size(); ++k) {
        CHECK(batch[k].example < examples && std::isfinite(batch[k].loss));
        for (const Entry& entry : batch[k].difference) CHECK(entry.index < dimension && std::isfinite(entry.value));
      }
    } catch (const std::invalid_argument&) {
    }
  }
}

TEST("candidate bytes: differences that are out of order or not finite are refused") {
  const auto with = [](std::vector<Entry> difference) {
    CandidateBatch batch;
    batch.accept({.example = 1, .loss = 1, .squared_norm = 1, .output = {}, .difference = difference});
    return CandidateBatch::from_bytes(batch.to_bytes(), examples, dimension).size();
  };
  constexpr double infinite = std::numeric_limits<double>::infinity();
  CHECK(with({{3, 1}, {4, 1}}) == 1);
  CHECK_THROWS(std::invalid_argument, with({{4, 1}, {3, 1}}), "not those of candidates");
  CHECK_THROWS(std::invalid_argument, with({{4, 1}, {4, 1}}), "not those of candidates");
  CHECK_THROWS(std::invalid_argument, with({{4, infinite}}), "not those of candidates");
  CHECK_THROWS(std::invalid_argument, with({{4, std::nan("")}}), "not those of candidates");
}
