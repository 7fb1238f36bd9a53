#include "engines/shards.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/random.hpp"

namespace marginloom {
namespace {

// Takes a delta of so many bytes from the front of those of all.
WeightDelta take_delta(ByteView& all, std::uint64_t size, std::size_t dimension) {
  if (size > all.size()) throw std::invalid_argument("'shard_deltas' are too short");
  const ByteView own = all.first(size);
  all = all.subspan(size);
  try {
    return WeightDelta::from_bytes(own, dimension);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(std::string("'shard_deltas' do not fit: ") + error.what());
  }
}

}  // namespace

std::vector<std::vector<std::size_t>> make_shards(std::vector<std::size_t> examples, std::size_t count, bool shuffled,
                                                  std::uint64_t seed) {
  if (count == 0) throw std::invalid_argument("there must be a shard");
  std::vector<std::size_t> order(examples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (shuffled) Random(~seed).shuffle(std::span(order));  // not the numbers that passes are shuffled by
  std::vector<std::vector<std::size_t>> shards(count);
  for (std::size_t s = 0; s < count; ++s) {
    const auto part =
        std::span(order).subspan(s * order.size() / count, (s + 1) * order.size() / count - s * order.size() / count);
    std::ranges::sort(part);
    for (const std::size_t j : part) shards[s].push_back(examples[j]);
  }
  return shards;
}

void ShardProgress::forget() {
  weights.clear();
  late.clear();
  ticks = wrong = 0;
  separated = false;
}

void save_progress(std::span<const ShardProgress* const> shards, StateArrays& arrays) {
  std::vector<std::uint64_t> numbers;
  std::vector<std::uint8_t> deltas;
  for (const ShardProgress* shard : shards) {
    const auto weights = shard->weights.to_bytes();
    const auto late = shard->late.to_bytes();
    numbers.insert(numbers.end(),
                   {weights.size(), late.size(), shard->ticks, shard->wrong, shard->separated ? 1U : 0U});
    deltas.insert(deltas.end(), weights.begin(), weights.end());
    deltas.insert(deltas.end(), late.begin(), late.end());
  }
  arrays["shard_progress"] = std::move(numbers);
  arrays["shard_deltas"] = std::move(deltas);
}

void save_progress(std::span<const ShardProgress> shards, StateArrays& arrays) {
  std::vector<const ShardProgress*> all;
  for (const ShardProgress& shard : shards) all.push_back(&shard);
  save_progress(all, arrays);
}

std::vector<ShardProgress> read_progress(std::span<const std::uint64_t> numbers, ByteView deltas, std::size_t dimension,
                                         bool averaged) {
  std::vector<ShardProgress> result(numbers.size() / ShardProgress::numbers);
  for (std::size_t s = 0; s < result.size(); ++s) {
    const auto own = numbers.subspan(ShardProgress::numbers * s, ShardProgress::numbers);
    result[s] = {.weights = take_delta(deltas, own[0], dimension),
                 .late = take_delta(deltas, own[1], averaged ? dimension : 0),
                 .ticks = own[2],
                 .wrong = own[3],
                 .separated = own[4] != 0};
  }
  if (!deltas.empty()) throw std::invalid_argument("'shard_deltas' are too long");
  return result;
}

// Earlier versions kept blocks of weights within a round, and none at its start.
std::vector<ShardProgress> saved_progress(const StateArrays& state, const ProgressShape& expected) {
  const bool earlier = state.contains("shard_blocks");
  const auto& numbers = state_array<std::uint64_t>(state, earlier ? "shard_numbers" : "shard_progress");
  const std::size_t each = earlier ? 4 : ShardProgress::numbers;
  if (numbers.size() != each * expected.shards) {
    throw std::invalid_argument("the state has " + std::to_string(numbers.size() / each) +
                                " shards, and now there are " + std::to_string(expected.shards) +
                                "; give that number of shards");
  }
  if (earlier && expected.within_round) {
    throw std::invalid_argument(
        "the state was saved within a round by an earlier version, which this one cannot continue; train anew, or go "
        "on "
        "from a state of the end of a round");
  }
  if (earlier) return std::vector<ShardProgress>(expected.shards);
  return read_progress(numbers, state_array<std::uint8_t>(state, "shard_deltas"), expected.dimension,
                       expected.averaged);
}

}  // namespace marginloom
