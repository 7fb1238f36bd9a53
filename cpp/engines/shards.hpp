// Shards of the examples, and what is learnt from each of them apart from the others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/state.hpp"
#include "core/weight_delta.hpp"

namespace marginloom {

enum class Sharding { shuffled, contiguous };

inline constexpr std::array<std::pair<const char*, Sharding>, 2> sharding_words{
    {{"shuffled", Sharding::shuffled}, {"contiguous", Sharding::contiguous}}};

// Cuts the examples, shuffled by the seed or as they are, into `count` parts whose sizes differ by one at most. The
// order within a part is that of the examples.
[[nodiscard]] std::vector<std::vector<std::size_t>> make_shards(std::vector<std::size_t> examples, std::size_t count,
                                                                bool shuffled, std::uint64_t seed);

// What was learnt from a shard since the start of a round; the symbols are those of mixing.hpp.
struct ShardProgress {
  static constexpr std::size_t numbers = 5;  // of each as arrays have it

  WeightDelta weights;      // delta_s, expanded
  WeightDelta late;         // u_s, expanded; empty if nothing is averaged
  std::uint64_t ticks = 0;  // T_s
  std::uint64_t wrong = 0;  // k_s
  bool separated = false;   // its last pass met no wrong example

  void forget();  // but keep the memory
};

// What saved progress has to fit.
struct ProgressShape {
  std::size_t shards = 0;
  std::size_t dimension = 0;
  bool averaged = false;
  bool within_round = false;
};

// As arrays: `shard_progress` and `shard_deltas`.
void save_progress(std::span<const ShardProgress* const> shards, StateArrays& arrays);
void save_progress(std::span<const ShardProgress> shards, StateArrays& arrays);
// And back. Throws std::invalid_argument if they do not fit each other, so many weights, or whether they are averaged.
[[nodiscard]] std::vector<ShardProgress> read_progress(std::span<const std::uint64_t> numbers, ByteView deltas,
                                                       std::size_t dimension, bool averaged);
// The same from a state. Throws std::invalid_argument if it has none that fits.
[[nodiscard]] std::vector<ShardProgress> saved_progress(const StateArrays& state, const ProgressShape& expected);

}  // namespace marginloom
