// Engines: a job, and options of their own.
#include <nanobind/stl/shared_ptr.h>

#include <stdexcept>
#include <utility>

#include "bindings/bindings.hpp"
#include "bindings/structs.hpp"
#include "engines/columns.hpp"
#include "engines/decoupled.hpp"
#include "engines/master_worker.hpp"
#include "engines/minibatch.hpp"
#include "engines/mixing.hpp"
#include "engines/pipelined.hpp"
#include "engines/serial.hpp"
#include "engines/shared.hpp"

namespace marginloom::python {
namespace {

using Rows = InputArray<std::uint64_t>;

// What every engine is given: a learner of a task, what to visit of what users see as examples, in which order, and by
// how many threads.
template <class Learner>
struct Job {
  std::shared_ptr<Task> task = {};
  std::shared_ptr<Learner> learner = {};
  Rows examples = {};
  std::uint64_t seed = 0;
  bool shuffle = true;
  int threads = 1;

  [[nodiscard]] OrderOptions order() const { return {.seed = seed, .shuffle = shuffle}; }
};

using OnlineJob = Job<OnlineLearner>;
using DualJob = Job<BlockLearner>;

template <class Learner>
void bind_job(nb::module_& module, const char* name) {
  using Bound = Job<Learner>;
  bind_options(module, name, Field{"task", &Bound::task}, Field{"learner", &Bound::learner},
               Field{"examples", &Bound::examples}, Field{"seed", &Bound::seed}, Field{"shuffle", &Bound::shuffle},
               Field{"threads", &Bound::threads});
}

// Rows of the job's task, whose learner it must be.
template <class Learner>
std::vector<std::size_t> visited_rows(const Job<Learner>& job, const Rows& rows) {
  if (&job.learner->task() != job.task.get()) throw std::invalid_argument("the learner belongs to another task");
  return checked_rows(*job.task, rows);
}

template <class Learner>
std::vector<std::size_t> visited(const Job<Learner>& job, const Rows& rows) {
  return examples_of(*job.task, visited_rows(job, rows));
}

template <class Made, class Learner, class... Options>
void make(Made* self, const Job<Learner>& job, Options&&... options) {
  new (self) Made(job.task, job.learner, visited(job, job.examples), std::forward<Options>(options)...);
}

void make_decoupled(Decoupled* self, const DualJob& job, DecoupledOptions options) {
  options.threads = job.threads;
  make(self, job, job.order(), std::move(options));
}

void make_minibatch(Minibatch* self, const OnlineJob& job, std::size_t batch_size) {
  if (batch_size == 0) throw std::invalid_argument("a batch must have an example");
  make(self, job, MinibatchOptions{.order = job.order(), .batch_size = batch_size, .threads = job.threads});
}

void make_mixing(Mixing* self, const OnlineJob& job, const std::vector<Rows>& shards, MixingOptions options) {
  std::vector<std::vector<std::size_t>> parts;
  for (const Rows& examples : shards) parts.push_back(visited(job, examples));
  options.order = job.order();
  options.threads = job.threads;
  new (self) Mixing(job.task, job.learner, std::move(parts), options);
}

nb::list shards_of(const Rows& examples, std::size_t count, bool shuffled, std::uint64_t seed) {
  nb::list result;
  for (const auto& shard : make_shards({view(examples).begin(), view(examples).end()}, count, shuffled, seed)) {
    result.append(to_numpy(std::vector<std::uint64_t>(shard.begin(), shard.end())));
  }
  return result;
}

void bind_online_engines(nb::module_& module) {
  nb::class_<SerialOnline, Engine>(module, "SerialOnline")
      .def("__init__", [](SerialOnline* self, const OnlineJob& job) { make(self, job, job.order()); }, nb::arg("job"));
  nb::class_<Minibatch, Engine>(module, "Minibatch")
      .def("__init__", &make_minibatch, nb::arg("job"), nb::arg("batch_size"));
  bind_options(module, "MixingOptions", Field{"by_errors", &MixingOptions::by_errors},
               Field{"inner_epochs", &MixingOptions::inner_epochs});
  nb::class_<Mixing, Engine>(module, "Mixing")
      .def("__init__", &make_mixing, nb::arg("job"), nb::arg("shards"), nb::arg("options"));
  module.def("make_shards", &shards_of, nb::arg("examples"), nb::arg("count"), nb::arg("shuffled"), nb::arg("seed"));
}

void bind_dual_engines(nb::module_& module) {
  nb::class_<SerialDual, Engine>(module, "SerialDual")
      .def("__init__", [](SerialDual* self, const DualJob& job) { make(self, job, job.order()); }, nb::arg("job"));
  nb::class_<MasterWorker, Engine>(module, "MasterWorker")
      .def(
          "__init__", [](MasterWorker* self, const DualJob& job) { make(self, job, job.order(), job.threads); },
          nb::arg("job"));
  nb::class_<Shared, Engine>(module, "Shared")
      .def(
          "__init__",
          [](Shared* self, const DualJob& job) { make(self, job, job.order(), SharedOptions{.threads = job.threads}); },
          nb::arg("job"));
  nb::class_<Pipelined, Engine>(module, "Pipelined")
      .def(
          "__init__",
          [](Pipelined* self, const DualJob& job, int scorers) { make(self, job, job.order(), job.threads, scorers); },
          nb::arg("job"), nb::arg("scorers"))
      .def_static("buffer_bytes", &Pipelined::buffer_bytes, nb::arg("task"), nb::arg("threads"), nb::arg("scorers"));
  bind_result(module, "ColumnsNeeds", Field{"duals", &Columns::Needs::duals}, Field{"state", &Columns::Needs::state},
              Field{"thread", &Columns::Needs::thread});
  nb::class_<Columns, Engine>(module, "Columns")
      .def(
          "__init__",
          [](Columns* self, const DualJob& job) {
            new (self) Columns(job.task, job.learner, visited_rows(job, job.examples), job.order(), job.threads);
          },
          nb::arg("job"))
      .def_static("needs", &Columns::needs, nb::arg("task"));
  using OfDecoupled = DecoupledOptions;
  bind_options(module, "DecoupledOptions", Field{"learners", &OfDecoupled::learners},
               Field{"rho_updates", &OfDecoupled::rho_updates}, Field{"rho_inferences", &OfDecoupled::rho_inferences},
               Field{"least_gain", &OfDecoupled::least_gain});
  nb::class_<Decoupled, Engine>(module, "Decoupled")
      .def("__init__", &make_decoupled, nb::arg("job"), nb::arg("options"));
}

}  // namespace

void bind_engines(nb::module_& module) {
  bind_job<OnlineLearner>(module, "OnlineJob");
  bind_job<BlockLearner>(module, "DualJob");
  bind_online_engines(module);
  bind_dual_engines(module);
}

}  // namespace marginloom::python
