#include "learners/difference_products.hpp"

#include <vector>

#include "core/entry_sort.hpp"
#include "core/random.hpp"
#include "core/sparse_product.hpp"
#include "test.hpp"

using marginloom::DifferenceProducts;
using marginloom::Entry;
using marginloom::Random;
using marginloom::WeightIndex;

namespace {

std::vector<Entry> random_difference(Random& random, std::size_t size, std::size_t range) {
  std::vector<Entry> entries, spare;
  for (std::size_t k = 0; k < size; ++k) {
    entries.push_back(
        {static_cast<WeightIndex>(random.below(range)), 0.1 * static_cast<double>(random.below(9)) - 0.4});
  }
  marginloom::coalesce(entries, spare);
  return entries;
}

}  // namespace

TEST("products of differences have the bits of those of two at a time") {
  DifferenceProducts products;
  Random random(1);
  for (const std::size_t range : {1, 20, 1000}) {
    std::vector<std::vector<Entry>> differences;
    std::size_t entries = 0;
    for (const std::size_t size : {40, 0, 7, 40, 300}) {
      differences.push_back(random_difference(random, size, range));
      entries += differences.back().size();
    }
    products.reset(differences.size(), entries);
    for (std::size_t j = 0; j < differences.size(); ++j) {
      products.add(differences[j]);
      for (std::size_t k = 0; k < j; ++k)
        CHECK(products.of(j, k) == marginloom::sparse_product(differences[j], differences[k]));
    }
  }
}
