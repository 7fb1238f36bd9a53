#include "engines/certificate.hpp"

#include <limits>
#include <memory>
#include <vector>

#include "core/kernels.hpp"

namespace marginloom {

Certificate certify(const Task& task, const DualLearner& learner, WeightView w, std::span<const std::size_t> examples,
                    int threads, StopRequest& stop) {
  constexpr std::size_t chunk = 8;
  const FindOptions only_bounds{.min_violation = std::numeric_limits<double>::infinity()};
  const std::vector<FindOptions> options(chunk, only_bounds);
  std::vector<double> slacks(examples.size());
  std::vector<std::unique_ptr<Scratch>> scratch(static_cast<std::size_t>(std::max(threads, 1)));
  const auto search = [&](int thread, std::size_t begin, std::size_t end) {
    auto& own = scratch[static_cast<std::size_t>(thread)];
    if (!own) own = task.make_scratch();
    FunctionSink ignore([](const Candidate&) {});
    task.find_batch(examples.subspan(begin, end - begin), w, std::span(options).first(end - begin), *own, ignore,
                    std::span(slacks).subspan(begin, end - begin));
  };
  Certificate result;
  result.complete = parallel_for(examples.size(), chunk, threads, stop, search);
  const double squared_norm = kernels().squared_norm(w.data(), w.size());
  result.primal = squared_norm / 2;
  for (std::size_t j = 0; j < examples.size(); ++j) {
    result.primal += learner.cost(examples[j]) * loss_value(learner.loss(), slacks[j]);
  }
  result.dual = learner.averaged_dual(squared_norm);
  result.exact = task.capabilities().exact || task.capabilities().bounded;
  return result;
}

}  // namespace marginloom
