#include "engines/pipelined.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "core/common.hpp"
#include "engines/registered_engine.hpp"

namespace marginloom {
namespace {

const ScoredTask& checked(const Task& task, const DualLearner& learner) {
  const auto* result = dynamic_cast<const ScoredTask*>(&task);
  require(result != nullptr && result->product_form(),
          "the engine needs a task whose joint features are products of input and output");
  require(learner.schedule().lends, "the learner cannot improve a block from its scores alone");
  return *result;
}

constexpr int spins_between_passes = 20'000;  // inner passes follow each other within a millisecond

int checked_threads(int threads) {
  require(threads >= Pipelined::fewest_threads, "the engine needs at least three threads");
  return threads;
}

// A third of the threads: found by trying.
std::size_t scorer_count(int threads, int asked) {
  const int count = asked > 0 ? asked : threads / 3;
  return static_cast<std::size_t>(std::clamp(count, 1, threads - 2));
}

}  // namespace

Pipelined::Pipelined(std::shared_ptr<const Task> task, std::shared_ptr<DualLearner> learner,
                     std::vector<std::size_t> examples, VisitOptions visiting, int threads, int scorers)
    : DualEngine(std::move(task), std::move(learner), std::move(examples), visiting),
      scored_(checked(*task_, *learner_)),
      team_(checked_threads(threads), spins_between_passes),
      pipeline_(*scored_.product_form(), weights_.values(), team_, scorer_count(threads, scorers)),
      scratch_(task_->make_scratch()) {}

std::size_t Pipelined::buffer_bytes(const Task& task, int threads, int scorers) {
  const auto* scored = dynamic_cast<const ScoredTask*>(&task);
  const auto form = scored ? scored->product_form() : std::nullopt;
  if (!form || threads < fewest_threads) return 0;
  return VisitPipeline::bytes_for(*form, static_cast<std::size_t>(threads), scorer_count(threads, scorers));
}

void Pipelined::search_pass(PassReport& report, StopRequest& stop) {
  FunctionSink absorb([&](const Candidate& candidate) {
    learner_->absorb(candidate, visitor_.visit);
    ++report.found;
  });
  report.threads.resize(static_cast<std::size_t>(team_.size()));
  std::vector<std::size_t> order;
  std::ranges::copy_if(examples_, std::back_inserter(order), [&](std::size_t i) { return !rests_.spares(i); });
  order = pass_order(std::move(order), options_, visitor_.random);
  const auto step = [&](std::size_t j, const double* scores, ScoreSteps& steps) {
    const std::size_t i = order[j];
    prefetch(std::span<const std::size_t>(order).subspan(j + 1));
    const std::size_t found_before = report.found;
    note_search(i, scored_.find_scored(i, scores, learner_->search(i), *scratch_, absorb), report);
    report.wrong += report.found > found_before ? 1 : 0;
    rests_.note(i, report.found == found_before && learner_->blocks()[i].empty());
    visitor_.updates += visit(i, scores, steps).updates;
  };
  report.stopped = !pipeline_.run(order, step, report.threads, stop);
  report.accepted = report.found;
}

Step Pipelined::visit(std::size_t i, const double* scores, ScoreSteps& steps) {
  Visit& visit = visitor_.visit;
  learner_->blocks().open(i, visit);
  Step step;
  const auto rows = visit.block->rows();
  visit.duals.resize(rows.size());
  if (!rows.empty()) {
    visit.values.resize(rows.size());
    for (std::size_t j = 0; j < rows.size(); ++j) visit.duals[j] = rows[j].dual;
    visit.block->list_outputs(visit.outputs);
    scored_.gather_scored(i, visit.outputs, scores, visit.values);
    step = learner_->solve(i, visit);
    if (step.updates > 0) scored_.scatter_scored(i, visit.outputs, visit.steps, steps);
  }
  learner_->settle(i, visit, step, true);
  return step;
}

void Pipelined::prefetch(std::span<const std::size_t> coming) const {
  constexpr std::size_t near = 4;
  learner_->prefetch(coming, {}, false);
  if (coming.size() > near) scored_.prefetch_scored(coming[near]);
}

void Pipelined::inner_passes(PassReport& report, StopRequest& stop) {
  const auto make_pass = [&](std::span<const std::size_t> order, auto note) {
    const auto step = [&](std::size_t j, const double* scores, ScoreSteps& steps) {
      prefetch(order.subspan(j + 1));
      note(j, visit(order[j], scores, steps));
    };
    return pipeline_.run(order, step, report.threads, stop);
  };
  marginloom::inner_passes(*learner_, visitor_, options_.shuffle, make_pass,
                           [&](std::size_t updates) { note_inner_pass(updates); });
  report.stopped |= stop.stopped();
}

namespace {

struct PipelinedOptions {
  int scorers = 0;
};

const EngineRegistration<DualLearner, PipelinedOptions> registered_pipelined(
    "pipelined", {parameter("scorers", &PipelinedOptions::scorers)},
    [](const DualJob& job, PipelinedOptions options) {
      return std::make_shared<Pipelined>(job.task, job.learner, job.examples(), job.visits, job.threads,
                                         options.scorers);
    },
    [](const Task& task, int threads, PipelinedOptions options) {
      return NamedBytes{{"buffers", Pipelined::buffer_bytes(task, threads, options.scorers)}};
    });

}  // namespace

}  // namespace marginloom
