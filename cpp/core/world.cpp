#include "core/world.hpp"

#include <numeric>
#include <utility>

namespace marginloom {

ArrayViews views(const StateArrays& arrays) {
  ArrayViews result;
  for (const auto& [name, array] : arrays) {
    result.emplace(name, std::visit([](const auto& values) { return ArrayView(std::span(values)); }, array));
  }
  return result;
}

WeightView weights_of(const ArrayViews& common, const Task& task) {
  return array_of<double>(common, "weights", task.dimension());
}

std::vector<std::size_t> examples_in(const ArrayViews& own, const Task& task) {
  const auto examples = array_of<std::uint64_t>(own, "examples");
  for (const std::uint64_t i : examples) {
    if (i >= task.size()) throw std::invalid_argument("there is no example " + std::to_string(i));
  }
  return {examples.begin(), examples.end()};
}

void take_answers(const std::string& question, const std::vector<StateArrays>& answers,
                  const std::function<void(std::size_t, const ArrayViews&)>& take) {
  for (std::size_t part = 0; part < answers.size(); ++part) {
    try {
      take(part, views(answers[part]));
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument("the answer of part " + std::to_string(part) + " to '" + question +
                                  "' cannot be used: " + error.what());
    }
  }
}

std::vector<std::size_t> cut_by_work(std::span<const double> work, std::size_t shares, std::size_t grain) {
  const double sum = std::accumulate(work.begin(), work.end(), 0.0);
  const bool known = sum > 0 && std::isfinite(sum) && std::ranges::all_of(work, [](double one) { return one >= 0; });
  const double all = known ? sum : static_cast<double>(work.size());
  std::vector<std::size_t> cuts{0};
  double done = 0;
  std::size_t place = 0;
  const auto work_at = [&](std::size_t j) { return known ? work[j] : 1; };
  for (std::size_t share = 1; share < shares; ++share) {
    const double wanted = all * static_cast<double>(share) / static_cast<double>(shares);
    // An item belongs where most of it lies.
    for (; place < work.size() && done + work_at(place) / 2 < wanted; ++place) done += work_at(place);
    cuts.push_back(std::min((place + grain - 1) / grain * grain, work.size()));
  }
  cuts.push_back(work.size());
  return cuts;
}

std::vector<std::size_t> cut_by_work(const Task& task, std::span<const std::size_t> examples, std::size_t shares,
                                     std::size_t grain) {
  std::vector<double> work(examples.size());
  std::ranges::transform(examples, work.begin(), [&](std::size_t i) { return task.work(i); });
  return cut_by_work(work, shares, grain);
}

}  // namespace marginloom
