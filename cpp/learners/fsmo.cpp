#include "learners/fsmo.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "learners/registered_learner.hpp"

namespace marginloom {
namespace {

constexpr double unknown = std::numeric_limits<double>::infinity();

}  // namespace

Fsmo::Fsmo(std::shared_ptr<const Task> task, ExampleNumbers costs, Parameters parameters)
    : BlockProblem({std::move(task), std::move(costs), Loss::hinge}, parameters.epsilon, parameters.memory,
                   {.of_rows = true, .alike = parameters.variant == Variant::as_published}),
      parameters_(parameters),
      at_once_(at_once(parameters.k_best)),
      counted_(objective_.costs.count_positive()),
      batch_(parameters.batch > 0 ? parameters.batch : std::max<std::size_t>(counted_ / 100, 1)),
      gap_(as_published() ? 0 : unknown) {}

Step Fsmo::solve(std::size_t i, Visit& visit) const {
  return as_published() ? sweep_as_published(terms(i), tolerance(), visit) : BlockProblem::solve(i, visit);
}

// When a thread's part of a batch is complete, and at the end of its part of a pass.
std::optional<Together> Fsmo::due(const Searched& searched) {
  const std::size_t part = std::max<std::size_t>(batch_ / static_cast<std::size_t>(searched.threads), 1);
  if (!searched.at_end && searched.waiting.size() < part) return std::nullopt;
  const bool all = searched.at_end || parameters_.scope == Scope::all;
  const auto solved = all ? searched.examples : searched.waiting;
  return Together{.examples = solved,
                  .tolerance = as_published() ? 0 : tolerance(),
                  .whole_sweeps = as_published(),
                  .drops = !as_published(),
                  .limits = {.others_move = searched.threads > 1,
                             .early = parameters_.inner_stop,
                             .least_gain = least_gain(solved.size()),
                             .sweeps = parameters_.inner_iterations,
                             .change = parameters_.inner_change,
                             .times = parameters_.inner_times}};
}

double Fsmo::least_gain(std::size_t examples) const {
  if (as_published() || parameters_.inner_share == 0) return 0;
  return parameters_.inner_share * gap_ * static_cast<double>(examples) / static_cast<double>(counted_);
}

void Fsmo::note_gap(double primal, double dual) {
  if (as_published()) return;
  BlockProblem::note_gap(primal, dual);
  gap_ = std::max(primal - dual, 0.0);
}

StateArrays Fsmo::export_state() const {
  StateArrays state = BlockProblem::export_state();
  state["fsmo_gap"] = std::vector<double>{gap_};
  return state;
}

StateArrays Fsmo::merged(const StateArrays& first, const StateArrays& second) const {
  StateArrays state = BlockProblem::merged(first, second);
  const auto gaps = concatenated<double>(first, second, "fsmo_gap");
  state["fsmo_gap"] = std::vector<double>{std::accumulate(gaps.begin(), gaps.end(), 0.0)};
  return state;
}

void Fsmo::import_state(const StateArrays& state) {
  const auto& gap = state_array<double>(state, "fsmo_gap");
  if (gap.size() != 1 || !(gap[0] >= 0)) throw std::invalid_argument("'fsmo_gap' of the state is broken");
  BlockProblem::import_state(state);
  gap_ = gap[0];
}

namespace {

constexpr std::array<Word<Fsmo::Scope>, 2> scope_words{{{"batch", Fsmo::Scope::batch}, {"all", Fsmo::Scope::all}}};
constexpr std::array<Word<Fsmo::Variant>, 2> fsmo_variant_words{
    {{"pairwise", Fsmo::Variant::pairwise}, {"as-published", Fsmo::Variant::as_published}}};

const LearnerRegistration<Fsmo> registered_fsmo(
    "fsmo", RowNumbers::costs,
    {parameter("epsilon", &Fsmo::Parameters::epsilon), parameter("k_best", &Fsmo::Parameters::k_best),
     parameter("batch", &Fsmo::Parameters::batch), parameter("scope", &Fsmo::Parameters::scope, scope_words),
     parameter("variant", &Fsmo::Parameters::variant, fsmo_variant_words),
     parameter("inner_stop", &Fsmo::Parameters::inner_stop),
     parameter("inner_iterations", &Fsmo::Parameters::inner_iterations),
     parameter("inner_change", &Fsmo::Parameters::inner_change),
     parameter("inner_times", &Fsmo::Parameters::inner_times), parameter("inner_share", &Fsmo::Parameters::inner_share),
     parameter("memory", &Fsmo::Parameters::memory)});

}  // namespace

}  // namespace marginloom
