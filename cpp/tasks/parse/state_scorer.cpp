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
  group_sums_.clear();
  view_sums_.clear();
  rows_.clear();
  parts_of_views_.clear();
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
  sum_count_ = 0;
}

void StateScorer::add(const ParserState& state, ActionScores* scores) {
  const StatePlaces places = places_of(state, length_);
  wanted_.push_back(scores);
  for (std::size_t view = 0; view < features_.states().views().size(); ++view) {
    wanted_sums_.push_back(sum_of_view(view, places));
  }
}

StateScorer::Kept& StateScorer::kept(std::size_t owner, std::uint64_t values) {
  const std::uint64_t mixed = (values ^ (values >> 29) ^ owner * 0x9E3779B97F4A7C15ULL) * 0xBF58476D1CE4E5B9ULL;
  return kept_[(mixed ^ mixed << 31) >> shift_];
}

std::uint32_t StateScorer::sum_of_view(std::size_t view, const StatePlaces& places) {
  const StateTemplates::View& own = features_.states().views()[view];
  if (own.groups.size() == 1) return sum_of_group(own.groups.front(), places);
  const std::size_t owner = features_.states().groups().size() + view;
  if (!own.number.fits() || owner >= most_owners) return new_view_sum(view, places);
  const std::uint64_t values = own.number.of(places);
  const std::uint32_t mark = generation_ << 8 | static_cast<std::uint32_t>(owner);
  Kept& found = kept(owner, values);
  if (found.owner != mark || found.values != values) found = {values, mark, new_view_sum(view, places)};
  return found.sum;
}

std::uint32_t StateScorer::new_view_sum(std::size_t view, const StatePlaces& places) {
  for (const std::uint32_t group : features_.states().views()[view].groups) {
    parts_of_views_.push_back(sum_of_group(group, places));
  }
  view_sums_.push_back({sum_count_, static_cast<std::uint32_t>(parts_of_views_.size())});
  return sum_count_++;
}

std::uint32_t StateScorer::sum_of_group(std::size_t group, const StatePlaces& places) {
  const PlaceNumber& number = features_.states().groups()[group].number;
  if (!number.fits() || group >= most_owners) return new_group_sum(group, places);
  const std::uint64_t values = number.of(places);
  const std::uint32_t mark = generation_ << 8 | static_cast<std::uint32_t>(group);
  Kept& found = kept(group, values);
  if (found.owner != mark || found.values != values) found = {values, mark, new_group_sum(group, places)};
  return found.sum;
}

std::uint32_t StateScorer::new_group_sum(std::size_t group, const StatePlaces& places) {
  features_.states().visit(parts_, group, places, [&](std::size_t, FeatureKey key) {
    const std::uint32_t row = features_.state_numbers().find(key);
    if (row == KeyTable::unknown) return;
    rows_.push_back(row);
    prefetch_line(weights_.data() + row * action_stride);
  });
  group_sums_.push_back({sum_count_, static_cast<std::uint32_t>(rows_.size())});
  return sum_count_++;
}

void StateScorer::run() {
  if (sums_.size() < sum_count_ * action_stride) sums_.resize(2 * sum_count_ * action_stride);
  const auto make = [this](const std::vector<Sum>& sums, const std::vector<std::uint32_t>& of, const double* rows) {
    std::size_t k = 0;
    for (const Sum& sum : sums) {
      Total total{};
      for (; k < sum.end; ++k) add_row(total, rows + of[k] * action_stride);
      std::ranges::copy(total, sums_.data() + sum.place * action_stride);
    }
  };
  make(group_sums_, rows_, weights_.data());
  make(view_sums_, parts_of_views_, sums_.data());
  const std::size_t views = features_.states().views().size();
  const std::uint32_t* place = wanted_sums_.data();
  for (ActionScores* const scores : wanted_) {
    Total total{};
    for (std::size_t view = 0; view < views; ++view) add_row(total, sums_.data() + *place++ * action_stride);
    std::copy_n(total.begin(), action_count, scores->begin());
  }
  count_steps(action_stride * (rows_.size() + parts_of_views_.size() + wanted_sums_.size()));
  group_sums_.clear();
  view_sums_.clear();
  rows_.clear();
  parts_of_views_.clear();
  wanted_.clear();
  wanted_sums_.clear();
  if (sum_count_ > most_kept_sums) forget();
}

}  // namespace marginloom
