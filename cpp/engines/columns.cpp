#include "engines/columns.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/common.hpp"
#include "core/objective.hpp"
#include "core/stopwatch.hpp"
#include "engines/engine_state.hpp"
#include "engines/registered_engine.hpp"

namespace marginloom {
namespace {

constexpr std::size_t width = DecisionDuals::group_size;

const ScoredTask& checked(const Task& task) {
  const auto* result = dynamic_cast<const ScoredTask*>(&task);
  require(result != nullptr, "the engine needs a task whose outputs are made of independent decisions");
  return *result;
}

}  // namespace

Columns::Columns(std::shared_ptr<const Task> task, std::shared_ptr<BlockLearner> learner,
                 std::span<const std::size_t> rows, OrderOptions options, int threads)
    : Engine(std::move(task)),
      learner_(std::move(learner)),
      options_(options),
      random_(options.seed),
      threads_(threads),
      duals_(checked(*task_), *learner_),
      rows_(rows.begin(), rows.end()),
      violated_(duals_.rows()) {}

Columns::Needs Columns::needs(const Task& task) {
  const auto* scored = dynamic_cast<const ScoredTask*>(&task);
  const auto form = scored ? scored->decision_form() : std::nullopt;
  if (!form) return {};
  const std::size_t bytes = DecisionDuals::bytes_for(*form);
  return {.duals = bytes, .state = bytes, .thread = 2 * sizeof(double) * width * form->weights.inputs.width()};
}

PassReport Columns::do_pass(StopRequest& stop) {
  PassReport report;
  const std::uint64_t seed = random_.next();
  std::vector<Outcome> outcomes(duals_.groups());
  const bool averages = learner_->schedule().averaged;
  const auto mean = averages ? average_.single(weights_.size()) : std::span<double>();
  std::ranges::fill(violated_, std::uint8_t{0});
  report.stopped = !for_groups(threads_, stop, report.threads, [&](Group& group, StopRequest* own_stop) {
    read_weights(weights_.values(), group.number, group.weights);
    improve(group, Random(Random(seed ^ group.number).next()), own_stop);
    write_weights(group, group.weights, weights_.values());
    if (averages) write_weights(group, group.mean, mean);
    outcomes[group.number] = outcome(group, averages ? group.mean : group.weights, nullptr);
  });
  if (report.stopped) average_.begin();
  report.inferences = rows_.size() * duals_.form().examples_per_row;
  report.primal_estimate = 0;
  report.dual = 0;
  for (const Outcome& outcome : outcomes) {
    report.primal_estimate = *report.primal_estimate + outcome.primal;
    report.dual = *report.dual + outcome.dual;
    report.training_loss += outcome.slack;
    report.updates += outcome.updates;
    report.active += outcome.active;
  }
  report.training_loss /= static_cast<double>(std::max<std::size_t>(report.inferences, 1));
  report.wrong = static_cast<std::size_t>(std::ranges::count(violated_, std::uint8_t{1}));
  report.found = report.accepted = report.updates;
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

Columns::Outcome Columns::outcome(const Group& group, const AlignedVector<double>& weights, StopRequest* stop) {
  const DecisionForm& form = duals_.form();
  const std::size_t used = std::min(width, form.weights.columns - group.number * width);
  const DecisionCosts costs = duals_.costs(group.number);
  const Loss loss = learner_->loss();
  Outcome result;
  result.updates = group.updates;
  result.primal = kernels().squared_norm(weights.data(), weights.size()) / 2;
  alignas(64) double scores[width];
  alignas(64) double slacks[width];
  for (std::size_t j = 0; j < rows_.size(); ++j) {
    if (stop && j % 64 == 0 && ended(stop)) return result;
    const std::uint32_t r = rows_[j];
    form.weights.inputs.line_scores(r, weights.data(), scores);
    kernels().decision_slacks(costs, scores, duals_.right(group.number, r), slacks);
    double sum = 0;
    for (std::size_t c = 0; c < used; ++c) sum += loss_value(loss, slacks[c]);
    if (sum == 0) continue;
    result.primal += duals_.cost(r) * sum;
    for (std::size_t c = 0; c < used; ++c) result.slack += slacks[c];
    std::atomic_ref(violated_[r]).store(1, std::memory_order_relaxed);
  }
  const auto sums = duals_.sums(group.number);
  result.active = sums.active;
  result.dual = sums.value - kernels().squared_norm(group.weights.data(), group.weights.size()) / 2;
  return result;
}

void Columns::read_weights(std::span<const double> from, std::size_t group, AlignedVector<double>& to) const {
  const ProductForm& form = duals_.form().weights;
  to.resize(form.inputs.width() * width);
  const double* column = from.data() + group * width;
  for (std::size_t f = 0; f < form.inputs.width(); ++f) {
    std::copy_n(column + f * form.stride, width, to.data() + f * width);
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

std::optional<Certificate> Columns::do_certify(int threads, StopRequest& stop) {
  std::vector<ThreadTime> times;
  std::vector<Outcome> outcomes(duals_.groups());
  Certificate result{.proven = true};
  result.complete = for_groups(threads, stop, times, [&](Group& group, StopRequest* own_stop) {
    recompute(group);
    write_weights(group, group.weights, weights_.values());
    if (!average_.empty()) read_weights(average_.single(), group.number, group.mean);
    outcomes[group.number] = outcome(group, average_.empty() ? group.weights : group.mean, own_stop);
  });
  for (const Outcome& outcome : outcomes) {
    result.primal += outcome.primal;
    result.dual += outcome.dual;
  }
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

namespace {

const EngineRegistration<BlockLearner> registered_columns(
    "columns", {},
    [](const BlockJob& job, NoOptions) {
      return std::make_shared<Columns>(job.task, job.learner, job.rows, job.order, job.threads);
    },
    [](const Task& task, int threads, NoOptions) {
      const Columns::Needs needs = Columns::needs(task);
      return NamedBytes{{"buffers", needs.thread * static_cast<std::size_t>(threads)},
                        {"duals", needs.duals},
                        {"state", needs.state}};
    });

}  // namespace

}  // namespace marginloom
