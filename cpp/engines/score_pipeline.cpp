#include "engines/score_pipeline.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/kernels.hpp"
#include "core/stopwatch.hpp"

namespace marginloom {
namespace {

constexpr std::size_t ahead = 4;  // visits that memory is fetched before its use

}  // namespace

ScorePipeline::ScorePipeline(const ProductForm& form, std::span<double> weights, Team& team, std::size_t scorers)
    : inputs_(form.inputs),
      weights_(weights),
      team_(team),
      columns_(form.columns),
      stride_(form.stride),
      single_stride_(2 * padded((stride_ + 1) / 2)),
      ring_(3 * static_cast<std::size_t>(team.size()) + near),
      scorers_(scorers),
      changes_(near * group_size * stride_),
      products_(ring_ * (lag + 1) * group_size * group_size),
      multiplied_(ring_),
      scores_(group_size * stride_),
      corrections_(group_size * single_stride_),
      moves_(near * group_size * single_stride_),
      steps_(group_size) {
  auto ranges = inputs_.divided(scorers);
  for (std::size_t s = 0; s < scorers; ++s) {
    scorers_[s].range = std::move(ranges[s]);
    scorers_[s].scores.resize(near * group_size * columns_);
    scorers_[s].row.resize(stride_);
  }
  const std::size_t multipliers = static_cast<std::size_t>(team_.size()) - 1 - scorers;
  multipliers_.reserve(multipliers);
  for (std::size_t m = 0; m < multipliers; ++m) multipliers_.emplace_back(inputs_, group_size);
}

std::size_t ScorePipeline::bytes_for(const ProductForm& form, std::size_t threads, std::size_t scorers) {
  const std::size_t single_stride = 2 * padded((form.stride + 1) / 2);
  const std::size_t scorer = (near * group_size * form.columns + form.stride) * sizeof(double) +
                             form.inputs.size() * sizeof(ColumnRange::Segment);
  const std::size_t multiplier = group_size * sizeof(float) * form.inputs.width();
  const std::size_t products = (3 * threads + near) * (lag + 1) * group_size * group_size * sizeof(float);
  const std::size_t solver = (near + 1) * group_size * (form.stride * sizeof(double) + single_stride * sizeof(float));
  return scorers * scorer + (threads - 1 - scorers) * multiplier + products + solver;
}

bool ScorePipeline::run(std::span<const std::size_t> order, const MakeStep& step, std::span<ThreadTime> times,
                        StopRequest& stop) {
  begin(order);
  team_.run([&](int thread) {
    const auto t = static_cast<std::size_t>(thread);
    try {
      if (t == 0) {
        solve(step, times[t], stop);
      } else if (t <= scorers_.size()) {
        score(scorers_[t - 1], times[t]);
      } else {
        multiply(multipliers_[t - 1 - scorers_.size()], times[t]);
      }
    } catch (...) {
      ending_ = true;
      throw;
    }
  });
  return !ending_;
}

void ScorePipeline::begin(std::span<const std::size_t> order) {
  order_ = order;
  next_.value = 0;
  solved_.value = 0;
  ending_ = false;
  for (Counter& counter : multiplied_) counter.value = 0;
  for (Scorer& scorer : scorers_) {
    scorer.applied = 0;
    scorer.scored = 0;
  }
}

std::span<const std::size_t> ScorePipeline::group(std::size_t g) const {
  const std::size_t begin = g * group_size;
  return order_.subspan(begin, std::min(group_size, order_.size() - begin));
}

double* ScorePipeline::changes(std::size_t g, std::size_t place) {
  return changes_.data() + (g % near * group_size + place) * stride_;
}

// Of the visits of a group, row by row, with those of the group so many places before it.
float* ScorePipeline::products(std::size_t g, std::size_t back) {
  return products_.data() + (g % ring_ * (lag + 1) + back) * group_size * group_size;
}

// False if the others are told to end first.
template <class Ready>
bool ScorePipeline::wait_until(Ready ready) const {
  constexpr int spins = 2000;
  for (int spin = 0; !ready(); ++spin) {
    if (ending_.load(std::memory_order_acquire)) return ready();
    if (spin < spins) {
      relax();
    } else {
      std::this_thread::yield();
    }
  }
  return true;
}

// The solver.

void ScorePipeline::solve(const MakeStep& step, ThreadTime& time, StopRequest& stop) {
  Stopwatch watch;
  for (std::size_t g = 0; g < group_count(); ++g) {
    if (stop.stopped()) ending_ = true;
    if (ending_) return;
    watch.lap();
    if (!wait_for_group(g)) return;
    watch.lap();
    solve_group(g, step);
    time.update += watch.lap();
  }
}

bool ScorePipeline::wait_for_group(std::size_t g) const {
  for (std::size_t from = g - std::min(g, lag); from <= g; ++from) {
    const auto& multiplied = multiplied_[from % ring_].value;
    if (!wait_until([&] { return multiplied.load(std::memory_order_acquire) > from; })) return false;
  }
  return std::ranges::all_of(scorers_, [&](const Scorer& scorer) {
    return wait_until([&] { return scorer.scored.load(std::memory_order_acquire) > g; });
  });
}

// Also if a step throws: what was done before it counts.
void ScorePipeline::solve_group(std::size_t g, const MakeStep& step) {
  gather_scores(g);
  for (auto& steps : steps_) steps.clear();
  std::fill_n(moves(g), group_size * single_stride_, 0.0F);
  try {
    for (std::size_t place = 0; place < group(g).size(); ++place) {
      correct_scores(g, place);
      step(g * group_size + place, scores_.data() + place * stride_, steps_[place]);
      float* move = moves(g) + place * single_stride_;
      for (const auto [column, value] : steps_[place].all()) move[column] += static_cast<float>(value);
    }
  } catch (...) {
    publish_changes(g);
    throw;
  }
  publish_changes(g);
}

// All at once: the solver would wait for its own writes to memory that scorers have read.
void ScorePipeline::publish_changes(std::size_t g) {
  std::fill_n(changes(g, 0), group_size * stride_, 0.0);
  for (std::size_t place = 0; place < group_size; ++place) {
    double* change = changes(g, place);
    for (const auto [column, value] : steps_[place].all()) change[column] += value;
  }
  solved_.value.store(g + 1, std::memory_order_release);
}

// The scores of all visits of a group as the scorers know them, and what the groups that they do not know of add.
void ScorePipeline::gather_scores(std::size_t g) {
  std::ranges::fill(scores_, 0.0);
  for (const Scorer& scorer : scorers_) {
    const double* part = scorer.scores.data() + g % near * group_size * columns_;
    for (std::size_t place = 0; place < group(g).size(); ++place) {
      double* scores = scores_.data() + place * stride_;
      for (std::size_t c = 0; c < columns_; ++c) scores[c] += part[place * columns_ + c];
    }
  }
  std::ranges::fill(corrections_, 0.0F);
  for (std::size_t back = std::min(g, lag); back > 0; --back) {
    kernels().add_singles_product(moves(g - back), products(g, back), group_size, group(g).size(), group_size,
                                  single_stride_, corrections_.data());
  }
}

// Adds what the visits before it in the group did: for some visits at a time what those before them did, and for each
// of them the rest, column by column (rows that were written just now cannot be read with wide registers yet).
void ScorePipeline::correct_scores(std::size_t g, std::size_t place) {
  constexpr std::size_t some = 8;
  const float* products = this->products(g, 0) + place * group_size;
  float* corrections = corrections_.data() + place * single_stride_;
  if (place % some == 0) {
    kernels().add_singles_product(moves(g), products, group_size, some, place, single_stride_, corrections);
  }
  double* scores = scores_.data() + place * stride_;
  for (std::size_t c = 0; c < columns_; ++c) scores[c] += corrections[c];
  for (std::size_t before = place - place % some; before < place; ++before) {
    for (const auto [column, value] : steps_[before].all()) scores[column] += products[before] * value;
  }
}

// Scorers.

void ScorePipeline::score(Scorer& scorer, ThreadTime& time) {
  Stopwatch watch;
  for (std::size_t g = 0; g < group_count(); ++g) {
    const std::size_t known = g - std::min(g, lag);
    watch.lap();
    if (!wait_until([&] { return solved_.value.load(std::memory_order_acquire) >= known; })) break;
    watch.lap();
    while (scorer.applied < known) apply_group(scorer, scorer.applied++);
    time.update += watch.lap();
    score_group(scorer, g);
    scorer.scored.store(g + 1, std::memory_order_release);
    time.inference += watch.lap();
  }
  (void)wait_until([&] { return solved_.value.load(std::memory_order_acquire) == group_count(); });
  watch.lap();
  const std::size_t solved = solved_.value.load(std::memory_order_acquire);
  while (scorer.applied < solved) apply_group(scorer, scorer.applied++);
  time.update += watch.lap();
}

void ScorePipeline::apply_group(Scorer& scorer, std::size_t g) {
  const auto examples = group(g);
  for (std::size_t place = 0; place < examples.size(); ++place) {
    inputs_.prefetch(examples.subspan(place + 1), scorer.range);
    const double* change = changes(g, place);
    if (std::all_of(change, change + stride_, [](double value) { return value == 0; })) continue;
    inputs_.add_to_rows(examples[place], scorer.range, change, stride_, weights_.data());
  }
}

void ScorePipeline::score_group(Scorer& scorer, std::size_t g) {
  const auto examples = group(g);
  double* scores = scorer.scores.data() + g % near * group_size * columns_;
  for (std::size_t place = 0; place < examples.size(); ++place) {
    inputs_.prefetch(examples.subspan(place + 1), scorer.range);
    inputs_.scores(examples[place], scorer.range, weights_.data(), stride_, scorer.row.data());
    std::copy_n(scorer.row.begin(), columns_, scores + place * columns_);
  }
}

// Multipliers.

void ScorePipeline::multiply(InputProducts& products, ThreadTime& time) {
  Stopwatch watch;
  for (;;) {
    const std::size_t g = next_.value.fetch_add(1, std::memory_order_relaxed);
    if (g >= group_count()) return;
    const auto room = [&] { return solved_.value.load(std::memory_order_acquire) + ring_ > g + lag; };
    watch.lap();
    // Multipliers are far ahead and have time. A thread that spins takes much of its core from one that shares it.
    while (!room()) {
      if (ending_.load(std::memory_order_acquire)) return;
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    watch.lap();
    multiply_group(products, g);
    multiplied_[g % ring_].value.store(g + 1, std::memory_order_release);
    time.inference += watch.lap();
  }
}

// The products of a group with itself and with those that follow.
void ScorePipeline::multiply_group(InputProducts& inputs, std::size_t g) {
  inputs.set_group(group(g));
  for (std::size_t later = 0; later <= lag && g + later < group_count(); ++later) {
    const auto examples = group(g + later);
    for (std::size_t place = 0; place < examples.size(); ++place) {
      if (place + ahead < examples.size()) inputs_.prefetch(examples[place + ahead]);
      const std::size_t count = later == 0 ? place : group_size;
      inputs.multiply(examples[place], {products(g + later, later) + place * group_size, count});
    }
  }
}

}  // namespace marginloom
