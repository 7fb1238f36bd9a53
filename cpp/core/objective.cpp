#include "core/objective.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "core/norm_parts.hpp"

namespace marginloom {

Primal primal_value(const Task& task, WeightView w, std::span<const std::size_t> examples,
                    const std::function<double(std::size_t)>& cost, Loss loss, int threads, StopRequest& stop) {
  constexpr std::size_t chunk = 8;
  const FindOptions only_bounds{.min_violation = std::numeric_limits<double>::infinity()};
  const std::vector<FindOptions> options(chunk, only_bounds);
  constexpr std::size_t window = 1 << 16;  // examples whose slacks are kept at a time
  std::vector<double> slacks(std::min(examples.size(), window));
  std::vector<std::unique_ptr<Scratch>> scratch(static_cast<std::size_t>(std::max(threads, 1)));
  Progress progress{.total = examples.size()};
  std::span<const std::size_t> searched;
  const auto search = [&](int thread, std::size_t begin, std::size_t end) {
    auto& own = scratch[static_cast<std::size_t>(thread)];
    if (!own) own = task.make_scratch();
    FunctionSink ignore([](const Candidate&) {});
    task.find_batch(searched.subspan(begin, end - begin), w, std::span(options).first(end - begin), *own, ignore,
                    std::span(slacks).subspan(begin, end - begin));
    progress.done.fetch_add(end - begin, std::memory_order_relaxed);
  };
  Primal result;
  NormParts norms(w);
  result.complete = parallel_for(norms.size(), 1, threads, stop, [&](int, std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) norms.compute(k);
  });
  result.squared_norm = norms.sum();
  result.value = result.squared_norm / 2;
  const Following following(stop, progress);
  for (std::size_t first = 0; first < examples.size() && result.complete; first += window) {
    searched = examples.subspan(first, std::min(window, examples.size() - first));
    result.complete = parallel_for(searched.size(), chunk, threads, stop, search);
    for (std::size_t j = 0; j < searched.size(); ++j) {
      result.value += cost(searched[j]) * loss_value(loss, slacks[j]);
    }
  }
  return result;
}

}  // namespace marginloom
