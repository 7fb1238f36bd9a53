// Learners and engines.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <stdexcept>

#include "bindings/bindings.hpp"
#include "bindings/lent_weights.hpp"
#include "core/objective.hpp"
#include "engines/decoupled.hpp"
#include "engines/master_worker.hpp"
#include "engines/pipelined.hpp"
#include "engines/serial.hpp"
#include "engines/shared.hpp"
#include "learners/hildreth.hpp"

namespace marginloom::python {
namespace {

template <class T>
nb::object optional_number(const std::optional<T>& number) {
  return number ? nb::cast(*number) : nb::none();
}

// Holds an engine for one call; a second one at the same time is an error, since nothing in an engine is locked.
class Hold {
 public:
  explicit Hold(const Engine& engine) : engine_(engine) {
    if (engine.busy.exchange(true)) throw std::runtime_error("this engine is at work in another thread");
  }
  ~Hold() { engine_.busy = false; }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  const Engine& engine_;
};

nb::dict run_pass(Engine& engine, const StopFlag* flag) {
  const Hold hold(engine);
  const LentWeights lent(engine.weights()->values(), engine.weights());
  PythonSignals signals(flag);
  StopRequest stop = signals.request();
  PassReport report;
  {
    const nb::gil_scoped_release release;
    report = engine.run_pass(stop);
  }
  signals.finish();
  nb::dict result;
  result["inferences"] = report.inferences;
  result["updates"] = report.updates;
  result["wrong"] = report.wrong;
  result["training_loss"] = report.training_loss;
  nb::list threads;
  for (const ThreadTime& time : report.threads) {
    nb::dict entry;
    entry["inference"] = time.inference;
    entry["update"] = time.update;
    entry["publishing"] = time.publishing;
    entry["waiting"] = time.waiting;
    threads.append(entry);
  }
  result["threads"] = threads;
  result["stopped"] = report.stopped;
  result["primal"] = optional_number(report.primal_estimate);
  result["dual"] = optional_number(report.dual);
  nb::dict candidates;
  candidates["found"] = report.found;
  candidates["accepted"] = report.accepted;
  candidates["stale"] = report.found - report.accepted;
  result["candidates"] = candidates;
  result["weights_age"] = report.weights_age;
  result["active"] = report.active;
  result["working_set_bytes"] = report.working_set_bytes;
  return result;
}

nb::object certify(Engine& engine, int threads, const StopFlag* flag) {
  const Hold hold(engine);
  const LentWeights lent(engine.weights()->values(), engine.weights());
  PythonSignals signals(flag);
  StopRequest stop = signals.request();
  std::optional<Certificate> certificate;
  {
    const nb::gil_scoped_release release;
    certificate = engine.certify(threads, stop);
  }
  signals.finish();
  if (!certificate) return nb::none();
  nb::dict result;
  result["primal"] = certificate->primal;
  result["dual"] = certificate->dual;
  result["exact"] = certificate->exact;
  result["complete"] = certificate->complete;
  return result;
}

// The objective of any weights, and whether every example was searched for it.
std::pair<double, bool> primal(const Task& task, const InputArray<double>& weights, const InputArray<double>& costs,
                               const std::string& loss, int threads, const StopFlag* flag) {
  if (weights.size() != task.dimension()) throw std::invalid_argument("one weight per dimension of the task is needed");
  const auto numbers = checked_numbers(costs);
  if (numbers.size() != task.size()) throw std::invalid_argument("one cost per example is needed");
  if (!task.capabilities().gold) throw std::invalid_argument("the examples have no gold outputs");
  std::vector<std::size_t> examples;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] > 0) examples.push_back(i);
  }
  PythonSignals signals(flag);
  StopRequest stop = signals.request();
  Primal found;
  {
    const nb::gil_scoped_release release;
    const auto cost = [&](std::size_t i) { return numbers[i]; };
    found = primal_value(task, view(weights), examples, cost, loss == "hinge" ? Loss::hinge : Loss::squared_hinge,
                         threads, stop);
  }
  signals.finish();
  return {found.value, found.complete};
}

// The duals of MIRA's quadratic programme, given its matrix row by row.
OutputArray<double> hildreth(const InputArray<double>& gram, const InputArray<double>& missing,
                             const InputArray<double>& costs, const InputArray<std::uint64_t>& examples,
                             double tolerance, int max_sweeps) {
  const std::size_t size = missing.size();
  if (gram.size() != size * size || costs.size() != size || examples.size() != size)
    throw std::invalid_argument("the parts of the programme differ in size");
  Hildreth programme;
  programme.reset(size);
  for (std::size_t j = 0; j < size; ++j) {
    programme.set(j, view(examples)[j], view(costs)[j], view(missing)[j], view(gram)[j * size + j]);
    for (std::size_t k = 0; k < j; ++k) programme.set_product(j, k, view(gram)[j * size + k]);
  }
  const auto duals = programme.solve({.tolerance = tolerance, .max_sweeps = max_sweeps});
  return to_numpy(std::vector<double>(duals.begin(), duals.end()));
}

// The weights being trained, as memory that lives as long as the array.
nb::object weights(const Engine& engine) {
  auto* buffer = new std::shared_ptr<WeightBuffer>(engine.weights());
  const nb::capsule owner(buffer,
                          [](void* memory) noexcept { delete static_cast<std::shared_ptr<WeightBuffer>*>(memory); });
  const auto values = (*buffer)->values();
  return nb::cast(OutputArray<double>(values.data(), {values.size()}, owner));
}

OutputArray<double> final_weights(const Engine& engine) {
  const Hold hold(engine);
  std::vector<double> result(engine.task().dimension());
  engine.final_weights(result);
  return to_numpy(std::move(result));
}

// Turns the weights being trained into those of a model, in place; nothing more can be done with the engine then.
void finish(Engine& engine) {
  const Hold hold(engine);
  if (!engine.weights_are_final()) engine.final_weights(engine.weights()->values());
}

nb::dict export_state(const Engine& engine) {
  const Hold hold(engine);
  nb::dict result;
  for (auto& [name, array] : engine.export_state()) {
    result[name.c_str()] = std::visit([](auto& values) { return nb::cast(to_numpy(std::move(values))); }, array);
  }
  return result;
}

template <class T>
bool take_array(StateArrays& state, const std::string& name, nb::handle value) {
  InputArray<T> array;
  if (!nb::try_cast<InputArray<T>>(value, array, false)) return false;
  state[name] = std::vector<T>(view(array).begin(), view(array).end());
  return true;
}

void import_state(Engine& engine, const nb::dict& arrays) {
  const Hold hold(engine);
  StateArrays state;
  for (const auto& [key, value] : arrays) {
    const std::string name(text_of(key));
    if (!take_array<double>(state, name, value) && !take_array<std::uint64_t>(state, name, value) &&
        !take_array<std::uint8_t>(state, name, value)) {
      throw std::invalid_argument("'" + name + "' of the state is not an array of the right type");
    }
  }
  engine.import_state(state);
}

template <class Serial, class Learner>
void make_serial(Serial* self, std::shared_ptr<Task> task, std::shared_ptr<Learner> learner,
                 const InputArray<std::uint64_t>& examples, std::uint64_t seed, bool shuffle) {
  if (&learner->task() != task.get()) throw std::invalid_argument("the learner belongs to another task");
  auto visited = checked_examples(*task, examples);
  new (self) Serial(std::move(task), std::move(learner), std::move(visited), {.seed = seed, .shuffle = shuffle});
}

}  // namespace

std::vector<std::size_t> checked_examples(const Task& task, const InputArray<std::uint64_t>& examples) {
  if (!task.capabilities().gold) throw std::invalid_argument("the examples have no gold outputs");
  for (const std::uint64_t i : view(examples)) {
    if (i >= task.size()) throw std::invalid_argument("there is no example " + std::to_string(i));
  }
  return {view(examples).begin(), view(examples).end()};
}

std::vector<double> checked_numbers(const InputArray<double>& numbers) {
  std::vector<double> result(view(numbers).begin(), view(numbers).end());
  for (const double number : result) {
    if (!(number >= 0) || !std::isfinite(number))
      throw std::invalid_argument("weights of examples must not be negative");
  }
  return result;
}

void bind_training(nb::module_& module) {
  bind_online_learners(module);
  module.def("hildreth", &hildreth);
  module.def("primal_value", &primal, nb::arg("task"), nb::arg("weights"), nb::arg("costs"), nb::arg("loss"),
             nb::arg("threads"), nb::arg("stop") = nb::none());

  nb::class_<DualLearner>(module, "DualLearner").def_prop_ro("memory", [](const DualLearner& self) {
    return self.held().bytes;
  });
  bind_dual_learners(module);

  nb::class_<Engine>(module, "Engine")
      .def("run_pass", &run_pass, nb::arg("stop") = nb::none())
      .def("certify", &certify, nb::arg("threads"), nb::arg("stop") = nb::none())
      .def("final_weights", &final_weights)
      .def("finish", &finish)
      .def("export_state", &export_state)
      .def("import_state", &import_state)
      .def("forget_averages",
           [](Engine& engine) {
             const Hold hold(engine);
             engine.forget_averages();
           })
      .def_prop_ro("weights_are_final", &Engine::weights_are_final)
      .def_prop_ro("descriptor", [](const Engine& self) { return self.weights()->descriptor(); })
      .def_prop_ro("weights", &weights);
  nb::class_<MasterWorker, Engine>(module, "MasterWorker")
      .def("__init__", [](MasterWorker* self, std::shared_ptr<Task> task, std::shared_ptr<DualLearner> learner,
                          const InputArray<std::uint64_t>& examples, std::uint64_t seed, bool shuffle, int threads) {
        if (&learner->task() != task.get()) throw std::invalid_argument("the learner belongs to another task");
        auto visited = checked_examples(*task, examples);
        new (self) MasterWorker(std::move(task), std::move(learner), std::move(visited), {seed, shuffle}, threads);
      });
  nb::class_<Decoupled, Engine>(module, "Decoupled")
      .def("__init__", [](Decoupled* self, std::shared_ptr<Task> task, std::shared_ptr<DualLearner> learner,
                          const InputArray<std::uint64_t>& examples, std::uint64_t seed, bool shuffle, int threads,
                          int learners, std::size_t rho_updates, std::size_t rho_inferences, double least_gain) {
        if (&learner->task() != task.get()) throw std::invalid_argument("the learner belongs to another task");
        auto visited = checked_examples(*task, examples);
        DecoupledOptions options;
        options.threads = threads;
        options.learners = learners;
        options.rho_updates = rho_updates;
        options.rho_inferences = rho_inferences;
        options.least_gain = least_gain;
        new (self) Decoupled(std::move(task), std::move(learner), std::move(visited), {seed, shuffle}, options);
      });
  nb::class_<Shared, Engine>(module, "Shared")
      .def("__init__",
           [](Shared* self, std::shared_ptr<Task> task, std::shared_ptr<DualLearner> learner,
              const InputArray<std::uint64_t>& examples, std::uint64_t seed, bool shuffle, int threads) {
             if (&learner->task() != task.get()) throw std::invalid_argument("the learner belongs to another task");
             auto visited = checked_examples(*task, examples);
             SharedOptions options;
             options.threads = threads;
             new (self) Shared(std::move(task), std::move(learner), std::move(visited), {seed, shuffle}, options);
           })
      .def_prop_ro("caution", &Shared::caution);
  nb::class_<Pipelined, Engine>(module, "Pipelined")
      .def("__init__",
           [](Pipelined* self, std::shared_ptr<Task> task, std::shared_ptr<DualLearner> learner,
              const InputArray<std::uint64_t>& examples, std::uint64_t seed, bool shuffle, int threads, int scorers) {
             if (&learner->task() != task.get()) throw std::invalid_argument("the learner belongs to another task");
             auto visited = checked_examples(*task, examples);
             new (self)
                 Pipelined(std::move(task), std::move(learner), std::move(visited), {seed, shuffle}, threads, scorers);
           });
  nb::class_<SerialOnline, Engine>(module, "SerialOnline").def("__init__", &make_serial<SerialOnline, OnlineLearner>);
  nb::class_<SerialDual, Engine>(module, "SerialDual").def("__init__", &make_serial<SerialDual, DualLearner>);
  bind_online_engines(module);
}

}  // namespace marginloom::python
