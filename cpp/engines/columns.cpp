#include "engines/columns.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/common.hpp"
#include "core/objective.hpp"
#include "core/stopwatch.hpp"

namespace marginloom {
namespace {

constexpr std::size_t width = DecisionDuals::group_size;

const ScoredTask& checked(const Task& task) {
  const auto* result = dynamic_cast<const ScoredTask*>(&task);
  require(result != nullptr, "the engine needs a task whose outputs are made of independent decisions");
  return *result;
}

}  // namespace

Columns::Columns(std::shared_ptr<const Task> task, std::shared_ptr<DualLearner> learner,
                 std::vector<std::size_t> examples, VisitOptions options, int threads)
    : Engine(std::move(task)),
      learner_(std::move(learner)),
      examples_(std::move(examples)),
      options_(options),
      random_(options.seed),
      threads_(threads),
      duals_(checked(*task_), *learner_),
      violated_(task_->size()) {
  const std::size_t per_row = duals_.form().examples_per_row;
  for (const std::size_t i : examples_) {
    if (i % per_row == 0) rows_.push_back(static_cast<std::uint32_t>(i / per_row));
  }
  require(rows_.size() * per_row == examples_.size(), "the engine needs all examples of a row, or none of them");
}

PassReport Columns::do_pass(StopRequest& stop) {
  PassReport report;
  const std::uint64_t seed = random_.next();
  std::vector<Outcome> outcomes(duals_.groups());
  const bool averages = learner_->schedule().averaged;
  const auto mean = averages ? average_.single(weights_.size()) : std::span<double>();
  std::ranges::fill(violated_, std::uint8_t{0});
  report.stopped = !for_groups(threads_, stop, report.threads, [&](Group& group, StopRequest* own_stop) {
    read_weights(group);
    improve(group, Random(Random(seed ^ group.number).next()), own_stop);
    write_weights(group, group.weights, weights_.values());
    if (averages) write_weights(group, group.mean, mean);
    outcomes[group.number] = outcome(group);
  });
  if (report.stopped) average_.begin();
  report.inferences = examples_.size();
  report.primal_estimate = 0;
  report.dual = 0;
  for (const Outcome& outcome : outcomes) {
    report.primal_estimate = *report.primal_estimate + outcome.primal;
    report.dual = *report.dual + outcome.dual;
    report.training_loss += outcome.slack;
    report.updates += outcome.updates;
    report.active += outcome.active;
  }
  report.training_loss /= static_cast<double>(std::max<std::size_t>(examples_.size(), 1));
  report.wrong = static_cast<std::size_t>(std::ranges::count(violated_, std::uint8_t{1}));
  report.found = report.accepted = report.updates;
  report.working_set_bytes = duals_.bytes();
  return report;
}

template <class Work>
bool Columns::for_groups(int threads, StopRequest& stop, std::vector<ThreadTime>& times, Work work) {
  const auto count = static_cast<std::size_t>(std::max(threads, 1));
  std::vector<Group> groups(count);
  times.resize(std::max(times.size(), count));
  ended_ = false;
  const bool whole = parallel_for(duals_.groups(), 1, threads, stop, [&](int thread, std::size_t begin, std::size_t) {
    const auto t = static_cast<std::size_t>(thread);
    Stopwatch watch;
    groups[t].number = begin;
    work(groups[t], thread == 0 ? &stop : nullptr);
    times[t].update += watch.lap();
  });
  return whole && !ended_;
}

// Only the thread that has the request asks; the others see what it was told.
bool Columns::ended(StopRequest* stop) {
  if (told_to_stop() || (stop && stop->stopped())) ended_.store(true, std::memory_order_relaxed);
  return ended_.load(std::memory_order_relaxed);
}

void Columns::improve(Group& group, Random random, StopRequest* stop) {
  const Schedule schedule = learner_->schedule();
  group.updates = 0;
  grow(group, random, stop);
  begin_sweeps(group);
  group.mean.assign(group.weights.size(), 0.0);
  const int sweeps = 1 + schedule.inner_passes;
  for (int k = 0; k < sweeps && !ended(stop); ++k) {
    sweep(group, duals_.terms(), random, stop);
    if (!schedule.averaged) continue;
    for (std::size_t j = 0; j < group.mean.size(); ++j) group.mean[j] += group.weights[j] / sweeps;
  }
}

// A dual that is 0 gets no further in a step than its loss over |x|^2. As long as that is less than C, fewer sweeps
// lead to the solution for half of C, and that to the next one.
void Columns::grow(Group& group, Random& random, StopRequest* stop) {
  constexpr double factor = 2;
  constexpr int sweeps = 5;
  if (!duals_.empty(group.number)) return;
  double steps = 0;  // that it takes to C, on average
  for (const std::uint32_t r : rows_) steps += duals_.cost(r) * duals_.form().weights.inputs.squared_norm(r);
  steps /= static_cast<double>(std::max<std::size_t>(rows_.size(), 1));
  double share = 1;
  while (share * steps > 1) share /= factor;
  for (; share < 1 && !ended(stop); share *= factor) {
    const auto terms = duals_.terms(share);
    begin_sweeps(group);
    for (int k = 0; k < sweeps && !ended(stop); ++k) sweep(group, terms, random, stop);
    for (const std::uint32_t r : rows_) {
      for (std::size_t c = 0; c < width; ++c) duals_.of(group.number, r)[c] *= factor;
    }
    for (double& weight : group.weights) weight *= factor;
  }
}

// All rows, and nothing is settled but the padding.
void Columns::begin_sweeps(Group& group) const {
  group.order = rows_;
  for (std::size_t c = 0; c < width; ++c) {
    const bool used = group.number * width + c < duals_.form().weights.columns;
    group.limits[c] = used ? std::numeric_limits<double>::infinity() : -1;
  }
}

void Columns::sweep(Group& group, std::span<const DecisionTerms> terms, Random& random, StopRequest* stop) {
  constexpr std::size_t ahead = 6;
  const InputMatrix& inputs = duals_.form().weights.inputs;
  const auto step = kernels().step_decisions;
  const DecisionCosts costs = duals_.costs(group.number);
  double* weights = group.weights.data();
  alignas(64) double scores[width];
  alignas(64) double steps[width];
  double largest[width] = {};
  if (options_.shuffle) random.shuffle(std::span(group.order));
  std::size_t kept = 0;
  for (std::size_t j = 0; j < group.order.size(); ++j) {
    if (j % 64 == 0 && ended(stop)) return;
    if (j + ahead < group.order.size()) duals_.prefetch(group.number, group.order[j + ahead]);
    const std::uint32_t r = group.order[j];
    inputs.line_scores(r, weights, scores);
    const DecisionMoves moves = step(terms[r], costs, scores, duals_.right(group.number, r), group.limits,
                                     duals_.of(group.number, r), steps, largest);
    if (moves.any) {
      inputs.add_to_rows(r, steps, width, weights);
      ++group.updates;
    }
    if (!moves.settled) group.order[kept++] = r;
  }
  group.order.resize(kept);
  for (std::size_t c = 0; c < width; ++c) group.limits[c] = group.limits[c] < 0 ? -1 : largest[c];
}

// The objectives of what the model would have of the group now.
Columns::Outcome Columns::outcome(const Group& group) {
  const DecisionForm& form = duals_.form();
  const double* weights = (learner_->schedule().averaged ? group.mean : group.weights).data();
  const std::size_t used = std::min(width, form.weights.columns - group.number * width);
  const DecisionCosts costs = duals_.costs(group.number);
  const Loss loss = learner_->loss();
  Outcome result;
  result.updates = group.updates;
  result.primal = kernels().squared_norm(weights, group.weights.size()) / 2;
  alignas(64) double scores[width];
  alignas(64) double slacks[width];
  for (const std::uint32_t r : rows_) {
    form.weights.inputs.line_scores(r, weights, scores);
    kernels().decision_slacks(costs, scores, duals_.right(group.number, r), slacks);
    double sum = 0;
    for (std::size_t c = 0; c < used; ++c) sum += loss_value(loss, slacks[c]);
    if (sum == 0) continue;
    result.primal += duals_.cost(r) * sum;
    for (std::size_t c = 0; c < used; ++c) {
      result.slack += slacks[c];
      if (slacks[c] > 0) note_violation(r, group.number * width + c);
    }
  }
  const auto sums = duals_.sums(group.number);
  result.active = sums.active;
  result.dual = sums.value - kernels().squared_norm(group.weights.data(), group.weights.size()) / 2;
  return result;
}

// Groups may share an example.
void Columns::note_violation(std::size_t row, std::size_t column) {
  const DecisionForm& form = duals_.form();
  const std::size_t example = row * form.examples_per_row + column / form.columns_per_example;
  std::atomic_ref(violated_[example]).store(1, std::memory_order_relaxed);
}

void Columns::read_weights(Group& group) const {
  const ProductForm& form = duals_.form().weights;
  group.weights.resize(form.inputs.width() * width);
  const double* column = weights_.values().data() + group.number * width;
  for (std::size_t f = 0; f < form.inputs.width(); ++f) {
    std::copy_n(column + f * form.stride, width, group.weights.data() + f * width);
  }
}

void Columns::write_weights(const Group& group, const AlignedVector<double>& from, std::span<double> to) const {
  const ProductForm& form = duals_.form().weights;
  double* column = to.data() + group.number * width;
  for (std::size_t f = 0; f < form.inputs.width(); ++f) {
    std::copy_n(from.data() + f * width, width, column + f * form.stride);
  }
}

// The weights that the duals stand for.
void Columns::recompute(Group& group) const {
  const InputMatrix& inputs = duals_.form().weights.inputs;
  group.weights.assign(inputs.width() * width, 0.0);
  for (std::size_t r = 0; r < duals_.rows(); ++r) {
    const double* duals = duals_.of(group.number, r);
    const bool any = std::any_of(duals, duals + width, [](double dual) { return dual != 0; });
    if (any) inputs.add_to_rows(r, duals, width, group.weights.data());
  }
}

double Columns::dual() const {
  double sum = -kernels().squared_norm(weights_.values().data(), weights_.size()) / 2;
  for (std::size_t g = 0; g < duals_.groups(); ++g) sum += duals_.sums(g).value;
  return sum;
}

std::optional<Certificate> Columns::certify(int threads, StopRequest& stop) {
  std::vector<ThreadTime> times;
  Certificate result{.exact = true};
  result.complete = for_groups(threads, stop, times, [&](Group& group, StopRequest*) {
    recompute(group);
    write_weights(group, group.weights, weights_.values());
  });
  if (!result.complete) return result;
  std::vector<double> average(weights_are_final() ? 0 : weights_.size());
  if (!average.empty()) final_weights(average);
  const WeightView w = average.empty() ? WeightView(weights_.values()) : WeightView(average);
  const auto cost = [&](std::size_t i) { return learner_->cost(i); };
  const Primal primal = primal_value(*task_, w, examples_, cost, learner_->loss(), threads, stop);
  result.complete = primal.complete;
  result.primal = primal.value;
  result.dual = dual();
  return result;
}

void Columns::final_weights(std::span<double> result) const {
  if (result.data() != weights_.values().data()) std::ranges::copy(weights_.values(), result.begin());
  if (!average_.empty()) average_.write(result);
}

StateArrays Columns::export_state() const {
  StateArrays state = with_engine_state(duals_.export_state(), weights_.values(), random_);
  average_.add_to(state);
  return state;
}

void Columns::import_state(const StateArrays& state) {
  const Random random = restored_random(state);
  SweepAverage average;
  if (learner_->schedule().averaged) average.take_from(state, weights_.size());
  duals_.import_state(state);
  average_ = std::move(average);
  random_ = random;
  std::vector<ThreadTime> times;
  StopRequest never;
  (void)for_groups(threads_, never, times, [&](Group& group, StopRequest*) {
    recompute(group);
    write_weights(group, group.weights, weights_.values());
  });
  restore_last_bits(state_array<double>(state, "weights"), weights_.values());
}

}  // namespace marginloom
