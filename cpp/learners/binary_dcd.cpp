#include "learners/binary_dcd.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/common.hpp"
#include "core/stopwatch.hpp"
#include "learners/registered_learner.hpp"

namespace marginloom {
namespace {

constexpr std::size_t width = DecisionDuals::group_size;

const ScoredTask& checked(const Task& task) {
  const auto* result = dynamic_cast<const ScoredTask*>(&task);
  require(result != nullptr, "the learner needs a task whose outputs are made of independent decisions");
  return *result;
}

}  // namespace

BinaryDcd::BinaryDcd(std::shared_ptr<const Task> task, ExampleNumbers costs, Parameters parameters)
    : PassLearner({std::move(task), std::move(costs), parameters.loss}),
      parameters_(parameters),
      duals_(checked(this->task()), this->costs(), parameters.loss),
      violated_(duals_.rows()) {}

NamedBytes BinaryDcd::needs(const Task& task, int threads) {
  const auto* scored = dynamic_cast<const ScoredTask*>(&task);
  const auto form = scored ? scored->decision_form() : std::nullopt;
  if (!form) return {};
  const std::size_t group = 2 * sizeof(double) * width * form->weights.inputs.width();
  return {{"duals", DecisionDuals::bytes_for(*form)}, {"buffers", group * static_cast<std::size_t>(threads)}};
}

PassReport BinaryDcd::pass(const Work& work, const Order& order, std::span<double> mean) {
  PassReport report;
  std::vector<Outcome> outcomes(duals_.groups());
  std::ranges::fill(violated_, std::uint8_t{0});
  report.stopped = !for_groups(work.threads, work.stop, report.threads, [&](Group& group, StopRequest* own_stop) {
    read_weights(work.w, group.number, group.weights);
    improve(group, work, order.shuffle, Random(Random(order.seed ^ group.number).next()), own_stop);
    write_weights(group, group.weights, work.w);
    if (parameters_.averaged) write_weights(group, group.mean, mean);
    outcomes[group.number] = outcome(group, parameters_.averaged ? group.mean : group.weights, work.rows, nullptr);
  });
  report.inferences = work.rows.size() * duals_.form().examples_per_row;
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

template <class Process>
bool BinaryDcd::for_groups(int threads, StopRequest& stop, std::vector<ThreadTime>& times, Process process) {
  const auto count = static_cast<std::size_t>(std::max(threads, 1));
  std::vector<Group> groups(count);
  times.resize(std::max(times.size(), count));
  ended_ = false;
  const bool whole = parallel_for(duals_.groups(), 1, threads, stop, [&](int thread, std::size_t begin, std::size_t) {
    const auto t = static_cast<std::size_t>(thread);
    Stopwatch watch;
    groups[t].number = begin;
    process(groups[t], thread == 0 ? &stop : nullptr);
    times[t].update += watch.lap();
  });
  return whole && !ended_;
}

// Only the thread that has the request asks; the others see what it was told.
bool BinaryDcd::ended(StopRequest* stop) {
  if (told_to_stop() || (stop && stop->stopped())) ended_.store(true, std::memory_order_relaxed);
  return ended_.load(std::memory_order_relaxed);
}

void BinaryDcd::improve(Group& group, const Work& work, bool shuffle, Random random, StopRequest* stop) {
  group.updates = 0;
  grow(group, work, shuffle, random, stop);
  begin_sweeps(group, work.rows);
  group.mean.assign(group.weights.size(), 0.0);
  const int sweeps = 1 + parameters_.inner_passes;
  for (int k = 0; k < sweeps && !ended(stop); ++k) {
    sweep(group, duals_.terms(), shuffle, random, stop);
    if (!parameters_.averaged) continue;
    for (std::size_t j = 0; j < group.mean.size(); ++j) group.mean[j] += group.weights[j] / sweeps;
  }
}

// A dual that is 0 gets no further in a step than its loss over |x|^2. As long as that is less than C, fewer sweeps
// lead to the solution for half of C, and that to the next one.
void BinaryDcd::grow(Group& group, const Work& work, bool shuffle, Random& random, StopRequest* stop) {
  constexpr double factor = 2;
  constexpr int sweeps = 5;
  if (!duals_.empty(group.number)) return;
  double steps = 0;  // that it takes to C, on average
  for (const std::size_t r : work.rows) steps += duals_.cost(r) * duals_.form().weights.inputs.squared_norm(r);
  steps /= static_cast<double>(std::max<std::size_t>(work.rows.size(), 1));
  double share = 1;
  while (share * steps > 1) share /= factor;
  for (; share < 1 && !ended(stop); share *= factor) {
    const auto terms = duals_.terms(share);
    begin_sweeps(group, work.rows);
    for (int k = 0; k < sweeps && !ended(stop); ++k) sweep(group, terms, shuffle, random, stop);
    for (const std::size_t r : work.rows) {
      for (std::size_t c = 0; c < width; ++c) duals_.of(group.number, r)[c] *= factor;
    }
    for (double& weight : group.weights) weight *= factor;
  }
}

// All rows, and nothing is settled but the padding.
void BinaryDcd::begin_sweeps(Group& group, std::span<const std::size_t> rows) const {
  group.order.assign(rows.begin(), rows.end());
  for (std::size_t c = 0; c < width; ++c) {
    const bool used = group.number * width + c < duals_.form().weights.columns;
    group.limits[c] = used ? std::numeric_limits<double>::infinity() : -1;
  }
}

void BinaryDcd::sweep(Group& group, std::span<const DecisionTerms> terms, bool shuffle, Random& random,
                      StopRequest* stop) {
  constexpr std::size_t ahead = 6;
  const InputMatrix& inputs = duals_.form().weights.inputs;
  const auto step = kernels().step_decisions;
  const DecisionCosts costs = duals_.costs(group.number);
  double* weights = group.weights.data();
  alignas(64) double scores[width];
  alignas(64) double steps[width];
  double largest[width] = {};
  if (shuffle) random.shuffle(std::span(group.order));
  std::size_t kept = 0;
  for (std::size_t j = 0; j < group.order.size(); ++j) {
    if (j % 64 == 0 && ended(stop)) return;
    if (j + ahead < group.order.size()) duals_.prefetch(group.number, group.order[j + ahead]);
    const std::uint32_t r = group.order[j];
    inputs.line_scores(r, weights, scores);
    const DecisionMoves moves = step(terms[r], costs, scores, duals_.gold(group.number, r), group.limits,
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

BinaryDcd::Outcome BinaryDcd::outcome(const Group& group, const AlignedVector<double>& weights,
                                      std::span<const std::size_t> rows, StopRequest* stop) {
  const DecisionForm& form = duals_.form();
  const std::size_t used = std::min(width, form.weights.columns - group.number * width);
  const DecisionCosts costs = duals_.costs(group.number);
  Outcome result;
  result.updates = group.updates;
  result.primal = kernels().squared_norm(weights.data(), weights.size()) / 2;
  alignas(64) double scores[width];
  alignas(64) double slacks[width];
  for (std::size_t j = 0; j < rows.size(); ++j) {
    if (stop && j % 64 == 0 && ended(stop)) return result;
    const std::size_t r = rows[j];
    form.weights.inputs.line_scores(r, weights.data(), scores);
    kernels().decision_slacks(costs, scores, duals_.gold(group.number, r), slacks);
    double sum = 0;
    for (std::size_t c = 0; c < used; ++c) sum += loss_value(parameters_.loss, slacks[c]);
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

void BinaryDcd::read_weights(std::span<const double> from, std::size_t group, AlignedVector<double>& to) const {
  const ProductForm& form = duals_.form().weights;
  to.resize(form.inputs.width() * width);
  const double* column = from.data() + group * width;
  for (std::size_t f = 0; f < form.inputs.width(); ++f) {
    std::copy_n(column + f * form.stride, width, to.data() + f * width);
  }
}

void BinaryDcd::write_weights(const Group& group, const AlignedVector<double>& from, std::span<double> to) const {
  const ProductForm& form = duals_.form().weights;
  double* column = to.data() + group.number * width;
  for (std::size_t f = 0; f < form.inputs.width(); ++f) {
    std::copy_n(from.data() + f * width, width, column + f * form.stride);
  }
}

// The weights that the duals stand for.
void BinaryDcd::recompute(Group& group) const {
  const InputMatrix& inputs = duals_.form().weights.inputs;
  group.weights.assign(inputs.width() * width, 0.0);
  for (std::size_t r = 0; r < duals_.rows(); ++r) {
    const double* duals = duals_.of(group.number, r);
    const bool any = std::any_of(duals, duals + width, [](double dual) { return dual != 0; });
    if (any) inputs.add_to_rows(r, duals, width, group.weights.data());
  }
}

Certificate BinaryDcd::certify(const Work& work, WeightView mean) {
  std::vector<ThreadTime> times;
  std::vector<Outcome> outcomes(duals_.groups());
  Certificate result{.proven = true};
  result.complete = for_groups(work.threads, work.stop, times, [&](Group& group, StopRequest* own_stop) {
    recompute(group);
    write_weights(group, group.weights, work.w);
    if (!mean.empty()) read_weights(mean, group.number, group.mean);
    outcomes[group.number] = outcome(group, mean.empty() ? group.weights : group.mean, work.rows, own_stop);
  });
  for (const Outcome& outcome : outcomes) {
    result.primal += outcome.primal;
    result.dual += outcome.dual;
  }
  return result;
}

double BinaryDcd::dual(double squared_norm) const {
  double result = -squared_norm / 2;
  for (std::size_t g = 0; g < duals_.groups(); ++g) result += duals_.sums(g).value;
  return result;
}

void BinaryDcd::write_weights(std::span<double> w, int threads) {
  std::vector<ThreadTime> times;
  StopRequest never;
  (void)for_groups(threads, never, times, [&](Group& group, StopRequest*) {
    recompute(group);
    write_weights(group, group.weights, w);
  });
}

DualLearner::Held BinaryDcd::held() const {
  Held result{.bytes = DecisionDuals::bytes_for(duals_.form())};
  for (std::size_t g = 0; g < duals_.groups(); ++g) result.candidates += duals_.sums(g).active;
  return result;
}

StateArrays BinaryDcd::export_state() const {
  require_all_examples();
  return duals_.export_state();
}

void BinaryDcd::import_state(const StateArrays& state) {
  require_all_examples();
  duals_.import_state(state);
}

// Its states do not name rows.
void BinaryDcd::require_all_examples() const {
  require(!ids().is_part(), "the learner needs all examples, not a part of them");
}

namespace {

const LearnerRegistration<BinaryDcd> registered_binary_dcd("binary-dcd", RowNumbers::costs,
                                                           {parameter("loss", &BinaryDcd::Parameters::loss, loss_words),
                                                            parameter("inner_passes",
                                                                      &BinaryDcd::Parameters::inner_passes),
                                                            parameter("averaged", &BinaryDcd::Parameters::averaged)},
                                                           BinaryDcd::needs);

}  // namespace

}  // namespace marginloom
