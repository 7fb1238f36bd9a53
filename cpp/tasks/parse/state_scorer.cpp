#include "tasks/parse/state_scorer.hpp"

#include <algorithm>
#include <bit>

#include "core/interruption.hpp"
#include "core/prefetch.hpp"

namespace marginloom {
namespace {

constexpr std::size_t most_kept_sums = std::size_t{1} << 16;  // 2 MB of them; then all are forgotten
constexpr std::size_t most_owners = 256;                      // groups and views whose sums are kept

using Total = std::array<double, action_stride>;

void add_row(Total& total, const double* row) {
  for (std::size_t a = 0; a < action_stride; ++a) total[a] += row[a];
}

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
  forget_wanted();
  forget();
}

void StateScorer::forget() {
  constexpr std::uint32_t generations = 1U << 24;
  if (++generation_ == generations) {
    std::ranges::fill(kept_, Kept{});
    generation_ = 1;
  }
  sum_count_ = 0;
}

void StateScorer::forget_wanted() {
  pending_.clear();
  others_.clear();
  rows_.clear();
  wanted_.clear();
  wanted_sums_.clear();
}

void StateScorer::add(const ParserState& state, ActionScores* scores) {
  const StatePlaces places = places_of(state, length_);
  wanted_.push_back(scores);
  for (const View& view : features_.states().views()) wanted_sums_.push_back(sum_of(view, places));
}

std::uint32_t StateScorer::sum_of(const View& view, const StatePlaces& places) {
  if (!view.number.fits() || view.owner >= most_owners) return new_sum(view, places);
  const std::uint64_t values = view.number.of(places);
  const std::uint32_t mark = generation_ << 8 | view.owner;
  Kept& found = kept_[((values ^ view.owner * 0x9E3779B97F4A7C15ULL) * 0xBF58476D1CE4E5B9ULL) >> shift_];
  if (found.owner != mark || found.values != values) found = {values, mark, new_sum(view, places)};
  return found.sum;
}

std::uint32_t StateScorer::new_sum(const View& view, const StatePlaces& places) {
  for (const View& other : view.others) others_.push_back(sum_of(other, places));
  const std::size_t first_row = rows_.size();
  for (const std::uint32_t group : view.groups) {
    features_.states().visit(parts_, group, places, [&](std::size_t, FeatureKey key) {
      const std::uint32_t row = features_.state_numbers().find(key);
      if (row == KeyTable::unknown) return;
      rows_.push_back(row);
      prefetch_line(weights_.data() + row * action_stride);
    });
  }
  pending_.push_back({sum_count_, static_cast<std::uint32_t>(view.others.size()),
                      static_cast<std::uint32_t>(rows_.size() - first_row)});
  return sum_count_++;
}

void StateScorer::run() {
  if (sums_.size() < sum_count_ * action_stride) sums_.resize(2 * sum_count_ * action_stride);
  const auto sum_at = [this](std::uint32_t place) { return sums_.data() + place * action_stride; };
  const std::uint32_t* other = others_.data();
  const std::uint32_t* row = rows_.data();
  for (const Pending& sum : pending_) {
    Total total{};
    for (std::uint32_t k = 0; k < sum.others; ++k) add_row(total, sum_at(*other++));
    for (std::uint32_t k = 0; k < sum.rows; ++k) add_row(total, weights_.data() + *row++ * action_stride);
    std::ranges::copy(total, sum_at(sum.place));
  }
  const std::size_t views = features_.states().views().size();
  const std::uint32_t* place = wanted_sums_.data();
  for (ActionScores* const scores : wanted_) {
    Total total{};
    for (std::size_t view = 0; view < views; ++view) add_row(total, sum_at(*place++));
    std::copy_n(total.begin(), action_count, scores->begin());
  }
  count_steps(action_stride * (rows_.size() + others_.size() + wanted_sums_.size()));
  forget_wanted();
  if (sum_count_ > most_kept_sums) forget();
}

}  // namespace marginloom
