// Engines that learners without a dual have to themselves.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "bindings/bindings.hpp"
#include "engines/minibatch.hpp"
#include "engines/mixing.hpp"

namespace marginloom::python {
namespace {

using SharedTask = std::shared_ptr<Task>;
using SharedLearner = std::shared_ptr<OnlineLearner>;
using Examples = InputArray<std::uint64_t>;

void check_task(const Task& task, const OnlineLearner& learner) {
  if (&learner.task() != &task) throw std::invalid_argument("the learner belongs to another task");
}

void make_minibatch(Minibatch* self, SharedTask task, SharedLearner learner, const Examples& examples,
                    std::size_t batch_size, int threads, std::uint64_t seed, bool shuffle) {
  check_task(*task, *learner);
  if (batch_size == 0) throw std::invalid_argument("a batch must have an example");
  auto visited = checked_examples(*task, examples);
  new (self) Minibatch(std::move(task), std::move(learner), std::move(visited),
                       {.visits = {.seed = seed, .shuffle = shuffle}, .batch_size = batch_size, .threads = threads});
}

void make_mixing(Mixing* self, SharedTask task, SharedLearner learner, const std::vector<Examples>& shards,
                 bool by_errors, std::size_t inner_epochs, int threads, std::uint64_t seed, bool shuffle) {
  check_task(*task, *learner);
  std::vector<std::vector<std::size_t>> visited;
  for (const Examples& examples : shards) visited.push_back(checked_examples(*task, examples));
  new (self) Mixing(std::move(task), std::move(learner), std::move(visited),
                    {.visits = {.seed = seed, .shuffle = shuffle},
                     .by_errors = by_errors,
                     .inner_epochs = inner_epochs,
                     .threads = threads});
}

nb::list shards_of(const Examples& examples, std::size_t count, bool shuffled, std::uint64_t seed) {
  nb::list result;
  for (const auto& shard : make_shards({view(examples).begin(), view(examples).end()}, count, shuffled, seed)) {
    result.append(to_numpy(std::vector<std::uint64_t>(shard.begin(), shard.end())));
  }
  return result;
}

}  // namespace

void bind_online_engines(nb::module_& module) {
  nb::class_<Minibatch, Engine>(module, "Minibatch").def("__init__", &make_minibatch);
  nb::class_<Mixing, Engine>(module, "Mixing").def("__init__", &make_mixing);
  module.def("make_shards", &shards_of);
}

}  // namespace marginloom::python
