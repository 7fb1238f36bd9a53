#include "learners/decision_chains.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/scored_task.hpp"

namespace marginloom {
namespace {

// The decisions of one example that have a dual, and its size.
using Sizes = std::vector<std::pair<std::size_t, double>>;

class Chains {
 public:
  explicit Chains(const ScoredTask& task) : task_(task) {}

  void add(std::size_t example, Sizes& sizes) {
    std::ranges::stable_sort(sizes, std::ranges::greater(), &Sizes::value_type::second);
    std::vector<std::size_t> wrong;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      wrong.push_back(sizes[k].first);
      const double dual = sizes[k].second - (k + 1 < sizes.size() ? sizes[k + 1].second : 0);
      if (dual == 0) continue;
      task_.append_output(example, wrong, outputs_);
      examples_.push_back(example);
      duals_.push_back(dual);
      offsets_.push_back(outputs_.size());
    }
  }
  StateArrays as_state() && {
    return {{"dual_examples", std::move(examples_)},      {"duals", std::move(duals_)},
            {"dual_output_offsets", std::move(offsets_)}, {"dual_outputs", std::move(outputs_)},
            {"block_threshold", std::vector<double>{1}},  {"block_slacks", std::vector<double>(task_.size())}};
  }

 private:
  const ScoredTask& task_;
  std::vector<std::uint64_t> examples_;
  std::vector<double> duals_;
  std::vector<std::uint64_t> offsets_{0};
  std::vector<std::uint8_t> outputs_;
};

}  // namespace

StateArrays with_chains(const Task& task, const StateArrays& state) {
  const auto* scored = dynamic_cast<const ScoredTask*>(&task);
  const auto form = scored ? scored->decision_form() : std::nullopt;
  const auto& used = state_array<std::uint8_t>(state, "decisions");
  const auto& values = state_array<double>(state, "decision_duals");
  const auto broken = [] {
    return std::invalid_argument("'decision_duals' of the state does not fit the decisions here");
  };
  if (!form) throw broken();
  const std::size_t columns = form->weights.columns;
  const std::size_t row_bytes = (columns + 7) / 8;
  if (used.size() != form->weights.inputs.size() * row_bytes || !all_finite(values)) throw broken();
  Chains chains(*scored);
  std::size_t next = 0;
  for (std::size_t i = 0; i < task.size(); ++i) {
    const std::uint8_t* bits = &used[i / form->examples_per_row * row_bytes];
    const std::size_t first = i % form->examples_per_row * form->columns_per_example;
    const std::size_t count = std::min(form->columns_per_example, columns - first);
    Sizes sizes;
    for (std::size_t k = 0; k < count; ++k) {
      if (((bits[(first + k) / 8] >> ((first + k) % 8)) & 1) == 0) continue;
      if (next == values.size()) throw broken();
      sizes.emplace_back(k, std::abs(values[next++]));
    }
    chains.add(i, sizes);
  }
  if (next != values.size()) throw broken();
  return std::move(chains).as_state();
}

}  // namespace marginloom
