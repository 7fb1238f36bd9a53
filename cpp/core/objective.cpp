#include "core/objective.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/norm_parts.hpp"

namespace marginloom {
namespace {

constexpr const char* slacks_of = "slacks";  // the question

// Lets the parts of a world search the examples, each a share of about the same work; false if it was stopped.
bool ask_for_slacks(World& world, const Task& task, std::span<const std::size_t> examples, WeightView w,
                    std::span<double> slacks) {
  const auto cuts = cut_by_work(task, examples, world.parts(), SlackSearch::grain);
  const auto share = [&](auto list, std::size_t part) { return list.subspan(cuts[part], cuts[part + 1] - cuts[part]); };
  std::vector<StateArrays> own(world.parts());
  for (std::size_t part = 0; part < own.size(); ++part) {
    const auto searched = share(examples, part);
    own[part]["examples"] = std::vector<std::uint64_t>(searched.begin(), searched.end());
  }
  try {
    const auto answers = all_answers(world, slacks_of, {{"weights", w}}, {}, std::move(own));
    take_answers(slacks_of, answers, [&](std::size_t part, const ArrayViews& answer) {
      const auto to = share(slacks, part);
      const auto found = array_of<double>(answer, "slacks", to.size());
      for (const double slack : found) {
        if (!(slack >= 0) || !std::isfinite(slack)) throw std::invalid_argument("a slack is negative or not finite");
      }
      std::ranges::copy(found, to.begin());
    });
  } catch (const Interrupted&) {
    return false;
  }
  return true;
}

}  // namespace

SlackSearch::SlackSearch(const Task& task, int threads)
    : task_(task), scratch_(static_cast<std::size_t>(std::max(threads, 1))) {}

bool SlackSearch::search(std::span<const std::size_t> examples, WeightView w, std::span<double> slacks,
                         StopRequest& stop, Progress* progress) {
  static const std::vector<FindOptions> only_bounds(
      grain, FindOptions{.min_violation = std::numeric_limits<double>::infinity()});
  const auto search = [&](int thread, std::size_t begin, std::size_t end) {
    auto& own = scratch_[static_cast<std::size_t>(thread)];
    if (!own) own = task_.make_scratch();
    FunctionSink ignore([](const Candidate&) {});
    task_.find_batch(examples.subspan(begin, end - begin), w, std::span(only_bounds).first(end - begin), *own, ignore,
                     slacks.subspan(begin, end - begin));
    if (progress) progress->done.fetch_add(end - begin, std::memory_order_relaxed);
  };
  return parallel_for(examples.size(), grain, static_cast<int>(scratch_.size()), stop, search);
}

Primal primal_value(const Task& task, WeightView w, std::span<const std::size_t> examples,
                    const std::function<double(std::size_t)>& cost, Loss loss, int threads, StopRequest& stop,
                    World* world) {
  // Examples whose slacks are kept at a time; in a world the weights travel each time.
  const std::size_t window = world ? std::size_t{1} << 22 : std::size_t{1} << 16;
  std::vector<double> slacks(std::min(examples.size(), window));
  SlackSearch here(task, threads);
  Progress progress{.total = examples.size()};
  Primal result;
  NormParts norms(w);
  result.complete = parallel_for(norms.size(), 1, threads, stop, [&](int, std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) norms.compute(k);
  });
  result.squared_norm = norms.sum();
  result.value = result.squared_norm / 2;
  const Following following(stop, progress);
  for (std::size_t first = 0; first < examples.size() && result.complete; first += window) {
    const auto searched = examples.subspan(first, std::min(window, examples.size() - first));
    const auto found = std::span(slacks).first(searched.size());
    if (world) {
      result.complete = ask_for_slacks(*world, task, searched, w, found);
      progress.done += searched.size();
    } else {
      result.complete = here.search(searched, w, found, stop, &progress);
    }
    for (std::size_t j = 0; j < searched.size(); ++j) {
      result.value += cost(searched[j]) * loss_value(loss, slacks[j]);
    }
  }
  return result;
}

StateArrays answer_slacks(SlackSearch& search, const Task& task, const ArrayViews& common, const ArrayViews& own,
                          StopRequest& stop) {
  const WeightView w = weights_of(common, task);
  const auto examples = examples_in(own, task);
  std::vector<double> slacks(examples.size());
  if (!search.search(examples, w, slacks, stop)) throw Interrupted();
  return {{"slacks", std::move(slacks)}};
}

}  // namespace marginloom
