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

std::vector<double> World::shares(const std::string&) const {
  return std::vector<double>(parts(), 1.0);
}

std::vector<StateArrays> all_answers(World& world, const std::string& question, const ArrayViews& common,
                                     const ArrayViews& changed, std::vector<StateArrays> own) {
  std::vector<StateArrays> answers;
  world.ask(question, common, changed, std::move(own),
            [&](std::size_t, StateArrays answer) { answers.push_back(std::move(answer)); });
  return answers;
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

void take_answer(const std::string& question, std::size_t part, const StateArrays& answer,
                 const std::function<void(const ArrayViews&)>& take) {
  try {
    take(views(answer));
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument("the answer of part " + std::to_string(part) + " to '" + question +
                                "' cannot be used: " + error.what());
  }
}

void take_answers(const std::string& question, const std::vector<StateArrays>& answers,
                  const std::function<void(std::size_t, const ArrayViews&)>& take) {
  for (std::size_t part = 0; part < answers.size(); ++part) {
    take_answer(question, part, answers[part], [&](const ArrayViews& answer) { take(part, answer); });
  }
}

std::vector<std::size_t> cut_by_work(std::span<const double> work, std::size_t shares, std::size_t grain) {
  return cut_by_work(work, std::vector<double>(shares, 1.0), grain);
}

std::vector<std::size_t> cut_by_work(std::span<const double> work, std::span<const double> shares, std::size_t grain) {
  const double sum = std::accumulate(work.begin(), work.end(), 0.0);
  const bool known = sum > 0 && std::isfinite(sum) && std::ranges::all_of(work, [](double one) { return one >= 0; });
  const double all = known ? sum : static_cast<double>(work.size());
  std::vector<std::size_t> cuts{0};
  double done = 0;
  std::size_t place = 0;
  const auto work_at = [&](std::size_t j) { return known ? work[j] : 1; };
  const double sum_of_shares = std::accumulate(shares.begin(), shares.end(), 0.0);
  double before = 0;
  for (std::size_t share = 1; share < shares.size(); ++share) {
    before += shares[share - 1];
    const double wanted = all * before / sum_of_shares;
    // An item belongs where most of it lies.
    for (; place < work.size() && done + work_at(place) / 2 < wanted; ++place) done += work_at(place);
    cuts.push_back(std::min((place + grain - 1) / grain * grain, work.size()));
  }
  cuts.push_back(work.size());
  return cuts;
}

std::vector<std::size_t> cut_by_work(const Task& task, std::span<const std::size_t> examples, std::size_t shares,
                                     std::size_t grain) {
  return cut_by_work(task, examples, std::vector<double>(shares, 1.0), grain);
}

std::vector<std::size_t> cut_by_work(const Task& task, std::span<const std::size_t> examples,
                                     std::span<const double> shares, std::size_t grain) {
  std::vector<double> work(examples.size());
  std::ranges::transform(examples, work.begin(), [&](std::size_t i) { return task.work(i); });
  return cut_by_work(work, shares, grain);
}

}  // namespace marginloom
