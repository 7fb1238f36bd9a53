#include "engines/shards.hpp"

#include <algorithm>

#include "test.hpp"

using marginloom::make_shards;
using Shards = std::vector<std::vector<std::size_t>>;

TEST("shards are disjoint, of equal size and fixed by the seed") {
  const std::vector<std::size_t> examples{2, 3, 5, 7, 11, 13, 17};
  const Shards contiguous = make_shards(examples, 3, false, 0);
  CHECK(contiguous == Shards{{2, 3}, {5, 7}, {11, 13, 17}});
  const Shards dealt = make_shards(examples, 3, true, 1);
  CHECK(dealt == make_shards(examples, 3, true, 1));
  CHECK(dealt != make_shards(examples, 3, true, 3));
  CHECK(dealt != contiguous);
  std::vector<std::size_t> all;
  for (const auto& shard : dealt) {
    CHECK(shard.size() == 2 || shard.size() == 3);
    all.insert(all.end(), shard.begin(), shard.end());
  }
  std::ranges::sort(all);
  CHECK(all == examples);
}
