#include "engines/pipelined.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

#include "core/common.hpp"
#include "engines/registered_engine.hpp"

namespace marginloom {
namespace {

const ScoredTask& checked(const Task& task, const BlockLearner& learner) {
  const auto* result = dynamic_cast<const ScoredTask*>(&task);
  require(result != nullptr && result->product_form(),
          "the engine needs a task whose joint features are products of input and output");
  require(learner.schedule().solves_single_copies(), "the learner cannot improve a block from its scores alone");
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

Pipelined::Pipelined(std::shared_ptr<const Task> task, std::shared_ptr<BlockLearner> learner,
                     std::vector<std::size_t> examples, OrderOptions order, int threads, int scorers)
    : DualEngine(std::move(task), std::move(learner), std::move(examples), order),
      scored_(checked(*task_, *learner_)),
      team_(checked_threads(threads), spins_between_passes),
      pipeline_(*scored_.product_form(), weights_.values(), team_, scorer_count(threads, scorers)) {
  worker_.prepare();
}

std::size_t Pipelined::buffer_bytes(const Task& task, int threads, int scorers) {
  const auto* scored = dynamic_cast<const ScoredTask*>(&task);
  const auto form = scored ? scored->product_form() : std::nullopt;
  if (!form || threads < fewest_threads) return 0;
  return ScorePipeline::bytes_for(*form, static_cast<std::size_t>(threads), scorer_count(threads, scorers));
}

void Pipelined::search_pass(PassReport& report, StopRequest& stop) {
  report.threads.resize(static_cast<std::size_t>(team_.size()));
  const auto order = order_of_pass();
  const auto step = [&](std::size_t j, const double* scores, ScoreSteps& steps) {
    const std::size_t i = order[j];
    prefetch(std::span(order).subspan(j + 1));
    worker_.note(worker_.find(i, [&](CandidateSink& sink) {
      return scored_.find_scored(i, scores, learner_->search(i), worker_.scratch(), sink);
    }));
    worker_.updates += visit(i, scores, steps).updates;
  };
  report.stopped = !pipeline_.run(order, step, report.threads, stop);
}

Step Pipelined::visit(std::size_t i, const double* scores, ScoreSteps& steps) {
  Visit& visit = worker_.visit;
  learner_->blocks().open(i, visit);
  OpenBlock& open = visit.open;
  const auto rows = open.block->rows();
  open.duals.resize(rows.size());
  Step step;
  if (!rows.empty()) {
    open.values.resize(rows.size());
    for (std::size_t j = 0; j < rows.size(); ++j) open.duals[j] = rows[j].dual;
    open.block->list_outputs(open.outputs);
    scored_.gather_scored(i, open.outputs, scores, open.values);
    step = learner_->solve(i, visit);
    if (step.updates > 0) scored_.scatter_scored(i, open.outputs, open.steps, steps);
  }
  learner_->settle(i, open.duals, step, true);
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
  worker_.inner_passes(options_.shuffle, make_pass, [&](std::size_t updates) { note_inner_pass(updates); });
  report.stopped |= stop.stopped();
}

namespace {

struct PipelinedOptions {
  int scorers = 0;
};

const EngineRegistration<BlockLearner, PipelinedOptions> registered_pipelined(
    "pipelined", {parameter("scorers", &PipelinedOptions::scorers)},
    [](const BlockJob& job, PipelinedOptions options) {
      return std::make_shared<Pipelined>(job.task, job.learner, job.examples(), job.order, job.threads,
                                         options.scorers);
    },
    [](const Task& task, int threads, PipelinedOptions options) {
      return NamedBytes{{"buffers", Pipelined::buffer_bytes(task, threads, options.scorers)}};
    });

}  // namespace

}  // namespace marginloom
