#include "tasks/parse/state_scorer.hpp"

#include <algorithm>
#include <bit>

#include "core/interruption.hpp"
#include "core/prefetch.hpp"

namespace marginloom {
namespace {

constexpr std::size_t most_kept_sums = std::size_t{1} << 16;  // 2 MB of them; then all are forgotten
constexpr std::size_t places_in_key = 4;
constexpr std::size_t most_group = 255;  // of those whose sums are kept

}  // namespace

StateScorer::StateScorer(const StateFeatures& features) : features_(features) {}

void StateScorer::load(const WordValues& words) {
  length_ = words.length;
  features_.states().compute_parts(words, parts_);
}

void StateScorer::begin(WeightView w, std::size_t beam) {
  weights_ = w;
  const std::size_t room = std::bit_ceil(std::clamp<std::size_t>(512 * beam, 4096, most_kept_sums));
  if (kept_.size() != room) {
    kept_.assign(room, Kept{});
    shift_ = 64 - std::countr_zero(room);
    generation_ = 0;
  }
  single_values_ = std::max(length_ + 2, small_values);
  to_make_.clear();
  rows_.clear();
  wanted_.clear();
  wanted_sums_.clear();
  forget();
}

void StateScorer::forget() {
  constexpr std::uint32_t generations = 1U << 24;
  if (++generation_ == generations) {
    std::ranges::fill(kept_, Kept{});
    generation_ = 1;
  }
  single_.assign(features_.states().groups().size() * single_values_, none);
  sum_count_ = 0;
}

void StateScorer::add(const ParserState& state, ActionScores* scores) {
  const StatePlaces places = places_of(state, length_);
  wanted_.push_back(scores);
  for (std::size_t group = 0; group < features_.states().groups().size(); ++group) {
    wanted_sums_.push_back(sum_of(group, places));
  }
}

std::uint32_t StateScorer::sum_of(std::size_t group, const StatePlaces& places) {
  const auto& own = features_.states().groups()[group].places;
  if (own.size() <= 1) {
    std::uint32_t& sum = single_[group * single_values_ + (own.empty() ? 0 : places[own[0]])];
    if (sum == none) sum = new_sum(group, places);
    return sum;
  }
  if (own.size() > places_in_key || group > most_group) return new_sum(group, places);
  std::uint64_t values = 0;
  for (const std::uint8_t place : own) values = values << 16 | places[place];
  const std::uint32_t owner = generation_ << 8 | static_cast<std::uint32_t>(group);
  const std::uint64_t mixed = (values ^ (values >> 29) ^ group * 0x9E3779B97F4A7C15ULL) * 0xBF58476D1CE4E5B9ULL;
  Kept& kept = kept_[(mixed ^ mixed << 31) >> shift_];
  if (kept.owner != owner || kept.values != values) kept = {values, owner, new_sum(group, places)};
  return kept.sum;
}

std::uint32_t StateScorer::new_sum(std::size_t group, const StatePlaces& places) {
  features_.states().visit(parts_, group, places, [&](std::size_t, FeatureKey key) {
    const std::uint32_t row = features_.state_numbers().find(key);
    if (row == KeyTable::unknown) return;
    rows_.push_back(row);
    prefetch_line(weights_.data() + row * action_stride);
  });
  to_make_.push_back({sum_count_, static_cast<std::uint32_t>(rows_.size())});
  return sum_count_++;
}

void StateScorer::run() {
  const std::size_t groups = features_.states().groups().size();
  if (sums_.size() < sum_count_ * action_stride) sums_.resize(2 * sum_count_ * action_stride);
  std::size_t row = 0;
  for (const Sum& sum : to_make_) {
    std::array<double, action_stride> total{};
    for (; row < sum.rows_end; ++row) {
      const double* const weights = weights_.data() + rows_[row] * action_stride;
      for (std::size_t a = 0; a < action_stride; ++a) total[a] += weights[a];
    }
    std::ranges::copy(total, sums_.data() + sum.place * action_stride);
  }
  const std::uint32_t* place = wanted_sums_.data();
  for (ActionScores* const scores : wanted_) {
    std::array<double, action_stride> total{};
    for (std::size_t group = 0; group < groups; ++group) {
      const double* const sum = sums_.data() + *place++ * action_stride;
      for (std::size_t a = 0; a < action_stride; ++a) total[a] += sum[a];
    }
    std::copy_n(total.begin(), action_count, scores->begin());
  }
  count_steps(action_stride * (rows_.size() + wanted_sums_.size()));
  to_make_.clear();
  rows_.clear();
  wanted_.clear();
  wanted_sums_.clear();
  if (sum_count_ > most_kept_sums) forget();
}

}  // namespace marginloom
